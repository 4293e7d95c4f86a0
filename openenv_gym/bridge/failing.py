"""What becomes of a lane that fails in a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError

from openenv_gym.bridge.infos import FAILURE, FAILURE_MESSAGE
from openenv_gym.bridge.lanes.lanes import Lanes

OnFailure: TypeAlias = Literal["raise", "truncate", "replace"]

MOST_IN_A_ROW = 3
"""How often a lane may fail without a success between, before its failure is raised whatever was asked for."""


def check_on_failure(on_failure: str, *, runs_already: bool) -> None:
    """Refuses what nothing can be done by.

    Args:
        on_failure: What was asked for.
        runs_already: Whether the servers were started by somebody else.

    Raises:
        ConfigurationError: It is none of ``OnFailure``, or needs servers of our own.
    """
    if on_failure not in get_args(OnFailure):
        raise ConfigurationError(
            f"on_failure must be one of {', '.join(map(repr, get_args(OnFailure)))}, not {on_failure!r}."
        )
    if on_failure == "replace" and runs_already:
        raise ConfigurationError(
            "on_failure='replace' needs servers that are started from here; those of base_url run by themselves. "
            "Use on_failure='truncate'."
        )


class Failing:
    """Decides about lanes that failed.

    Args:
        on_failure: ``"raise"``; ``"truncate"``: the lane reports its last observation, truncated, and takes any free
            session; ``"replace"``: the same, on a server that is started anew.
        lanes: The lanes.
    """

    def __init__(self, on_failure: str, lanes: Lanes) -> None:
        self._on_failure = on_failure
        self._lanes = lanes
        self._in_a_row: dict[int, int] = {}

    @property
    def goes_on(self) -> bool:
        """Whether a lane that failed is reset and goes on, rather than its failure being raised."""
        return self._on_failure != "raise"

    def info(self, lane: int, error: OpenEnvGymError) -> dict[str, Any] | None:
        """Takes note of a failure.

        Returns:
            What the lane's info says of it, or None where it has to be raised.
        """
        if not self.goes_on:
            return None
        self._in_a_row[lane] = self._in_a_row.get(lane, 0) + 1
        if self._in_a_row[lane] > MOST_IN_A_ROW:
            return None
        if self._on_failure == "replace":
            self._lanes.replace(lane)
        return {FAILURE: str(error.failure), FAILURE_MESSAGE: error.message}

    def succeeded(self, lanes: Iterable[int]) -> None:
        """Takes note that lanes began an episode."""
        for lane in lanes:
            self._in_a_row.pop(lane, None)
