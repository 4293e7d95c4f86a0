"""How long a client waits, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, UnknownOption, nearest

_MAY_BE_ENDLESS = frozenset({"reset", "step", "state"})


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Seconds that each phase may take. None, where allowed, is for debugging: it waits for ever.

    Attributes:
        start: For a provider to make servers ready that are started together, fetching their image included.
        connect: For the address, the connection and the handshake.
        reset: For the reply to a reset. None: no limit.
        step: For the reply to a step. None: no limit.
        state: For the reply to a request for the state. None: no limit.
    """

    start: float = 300.0
    connect: float = 10.0
    reset: float | None = 120.0
    step: float | None = 60.0
    state: float | None = 60.0

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigurationError: One is not a positive number of seconds.
        """
        for phase in fields(self):
            _check(phase.name, getattr(self, phase.name))

    @classmethod
    def of(cls, value: Timeouts | Mapping[str, float | None] | None) -> Timeouts:
        """Reads time-outs as a caller may write them.

        Args:
            value: Time-outs; or seconds by the names of the phases, the others keeping their defaults; or None for
                the defaults.

        Raises:
            UnknownOption: A key is no phase; the message names the nearest.
            ConfigurationError: A value is not a positive number of seconds.
        """
        if isinstance(value, Timeouts):
            return value
        known = [phase.name for phase in fields(cls)]
        given: dict[str, Any] = dict(value or {})
        for name in given:
            if name not in known:
                raise UnknownOption(f"Timeouts got an unexpected keyword argument {name!r}. {nearest(name, known)}")
        return cls(**given)


def _check(name: str, value: object) -> None:
    if value is None and name in _MAY_BE_ENDLESS:
        return
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return
    expected = "a positive number of seconds" + (" or None" if name in _MAY_BE_ENDLESS else "")
    raise ConfigurationError(f"The time-out {name!r} must be {expected}, not {value!r}.")
