"""How much a run may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, FailureClass, UnknownOption, nearest

RETRIED = (FailureClass.INFRASTRUCTURE, FailureClass.TIMEOUT, FailureClass.CAPACITY)
"""The failure classes that are tried again by default: those in which the environment's rules have no part."""

_OF_A_RUN = {"seeds", "resets", "group_size", "trace", "about"}
"""What a run takes besides."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a run may take.

    Attributes:
        concurrency: The most episodes at once; each has a session of its own.
        max_steps: Steps after which an episode is truncated; None: the id's own limit, if it has one.
        episode_timeout: Seconds for one attempt at an episode, the policy included; None for no limit.
        timeout: Seconds for the whole run; None for no limit. What is under way then fails with the class ``timeout``.
        retries: How often a failed episode is begun anew, in a new session; the failed attempts are kept.
        retry_on: The failure classes for which it is.
    """

    concurrency: int = 16
    max_steps: int | None = None
    episode_timeout: float | None = None
    timeout: float | None = None
    retries: int = 0
    retry_on: tuple[FailureClass, ...] = RETRIED

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigurationError: One cannot be.
        """
        for name in ("concurrency", "max_steps", "episode_timeout", "timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{name} must be more than 0, not {value!r}.")
        if self.retries < 0:
            raise ConfigurationError(f"retries must be 0 or more, not {self.retries!r}.")
        try:
            object.__setattr__(self, "retry_on", tuple(FailureClass(each) for each in self.retry_on))
        except ValueError as error:
            raise ConfigurationError(f"retry_on: {error}. Failure classes: {', '.join(FailureClass)}.") from error


def limits_of(keywords: Mapping[str, Any]) -> Limits:
    """The limits that keywords name.

    Raises:
        UnknownOption: A keyword that is no limit; the message names the nearest of a run's keywords.
        ConfigurationError: A value cannot be.
    """
    known = {each.name for each in fields(Limits)}
    for name in keywords:
        if name not in known:
            raise UnknownOption(
                f"Rollouts got an unexpected keyword argument {name!r}. {nearest(name, known | _OF_A_RUN)}"
            )
    return Limits(**keywords)
