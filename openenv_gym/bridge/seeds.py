"""Which seed a reset sends.

After a seeded reset, later resets without a seed must be deterministic too. Where the environment continues a
random stream of its own, nothing is sent; everywhere else the lane's own generator gives the next seed, in the same
way for ``RemoteEnv`` and for every lane of ``RemoteVectorEnv``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from openenv_gym_protocol.bodies import Seeding
from openenv_gym_protocol.errors import ConfigurationError

APPLIED, NOT_APPLIED, NOT_CONFIRMED = 1, 0, -1
"""The values of ``info["seed_applied"]``."""

_CONFIRMATION = {True: APPLIED, False: NOT_APPLIED, None: NOT_CONFIRMED}
"""What a sent seed has done, by what the server says of its support."""

LARGEST_SEED = 2**64 - 1
"""What the vector wire can carry; the same on the standard wire, so that both take the same."""

_SEED_LIMIT = 2**31
"""Drawn seeds are below it: environments hand them to generators that take 32 bits."""


class Seeds:
    """The seeds of one lane.

    Attributes:
        seeding: What the server says of seeds; unknown until the lane connects.
        applied: Whether the running episode depends on a seed of ours: 1 yes, 0 no, -1 not confirmed.
    """

    def __init__(self) -> None:
        self.seeding = Seeding()
        self.applied = NOT_APPLIED
        self._was_seeded = False

    def next(
        self, seed: int | None, *, is_new_session: bool, generator: Callable[[], np.random.Generator]
    ) -> int | None:
        """The seed that a reset sends.

        Args:
            seed: What the caller asked for, or None.
            is_new_session: Whether the session has not been reset before: its random stream is not ours.
            generator: Gives the lane's own generator, which the caller seeded with ``seed`` when there was one.

        Returns:
            A seed of at least 0, or None to send none.
        """
        sent = seed if seed is not None else self._drawn(is_new_session=is_new_session, generator=generator)
        self._was_seeded = self._was_seeded or sent is not None
        depends = sent is not None or (self._was_seeded and bool(self.seeding.seeded_stream))
        self.applied = _CONFIRMATION[self.seeding.seed_supported] if depends else NOT_APPLIED
        return sent

    def told(self, *, applied: bool, unknown: bool) -> None:
        """Notes what the server says of the running episode, which knows better than what was sent.

        Args:
            applied: It depends on a seed that was sent.
            unknown: It does, but the server does not know whether the environment heeds seeds.
        """
        self.applied = self.meaning(applied=applied, unknown=unknown)

    def meaning(self, *, applied: bool, unknown: bool) -> int:
        """What ``applied`` is when the server says this; see ``told``."""
        depends = _CONFIRMATION[self.seeding.seed_supported] if unknown else NOT_APPLIED
        return APPLIED if applied else depends

    def peek(self, generator: np.random.Generator) -> int | None:
        """The seed that the next reset of the running session would send, with nothing drawn or noted.

        Args:
            generator: The lane's own.
        """
        if not self._draws(is_new_session=False):
            return None
        before = generator.bit_generator.state
        try:
            return self._drawn(is_new_session=False, generator=lambda: generator)
        finally:
            generator.bit_generator.state = before

    def _drawn(self, *, is_new_session: bool, generator: Callable[[], np.random.Generator]) -> int | None:
        return int(generator().integers(_SEED_LIMIT)) if self._draws(is_new_session=is_new_session) else None

    def _draws(self, *, is_new_session: bool) -> bool:
        if self.seeding.seed_supported is False:
            return False
        return not self.seeding.seeded_stream or (self._was_seeded and is_new_session)


def lane_seeds(seed: Any, count: int) -> list[int | None]:
    """One seed for each lane.

    Args:
        seed: None, an integer (lane i gets ``seed + i``), or one integer or None for each lane; numpy's integers
            are as good as Python's.
        count: How many lanes there are.

    Raises:
        ValueError: There are not as many seeds as lanes.
        ConfigurationError: A seed is no integer, negative, or larger than any wire carries.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        first = checked_seed(seed)
        return [checked_seed(first + lane) for lane in range(count)]
    if isinstance(seed, str | bytes) or not isinstance(seed, Sequence | np.ndarray):
        raise ConfigurationError(f"A seed must be an integer, or one for each environment, not {seed!r}.")
    if len(seed) != count:
        raise ValueError(
            f"If seeds are passed as a list the length must match num_envs={count} but got length={len(seed)}."
        )
    return [None if item is None else checked_seed(item) for item in seed]


def checked_seed(seed: Any) -> int:
    """A seed as a Python integer.

    Raises:
        ConfigurationError: It is no integer, negative, or larger than any wire carries.
    """
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigurationError(f"A seed must be an integer of at least 0, not {seed!r}.")
    if seed > LARGEST_SEED:
        raise ConfigurationError(f"A seed must be below 2**64, which {seed} is not.")
    return int(seed)
