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

    def peek(self, generator: np.random.Generator) -> int | None:
        """The seed that the next reset of the running session would send, with nothing drawn or noted.

        Args:
            generator: The lane's own.
        """
        before = generator.bit_generator.state
        try:
            return self._drawn(is_new_session=False, generator=lambda: generator)
        finally:
            generator.bit_generator.state = before

    def _drawn(self, *, is_new_session: bool, generator: Callable[[], np.random.Generator]) -> int | None:
        if self.seeding.seed_supported is False:
            return None
        continues = self.seeding.seeded_stream and not (self._was_seeded and is_new_session)
        return None if continues else int(generator().integers(_SEED_LIMIT))


def lane_seeds(seed: Any, count: int) -> list[int | None]:
    """One seed for each lane.

    Args:
        seed: None, an integer (lane i gets ``seed + i``), or one integer or None for each lane; numpy's integers
            are as good as Python's.
        count: How many lanes there are.

    Raises:
        ValueError: There are not as many seeds as lanes.
        ConfigurationError: A seed is no integer, or negative.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        first = checked_seed(seed)
        return [first + lane for lane in range(count)]
    if not isinstance(seed, Sequence | np.ndarray):
        raise ConfigurationError(f"A seed must be an integer, or one for each environment, not {seed!r}.")
    if len(seed) != count:
        raise ValueError(
            f"If seeds are passed as a list the length must match num_envs={count} but got length={len(seed)}."
        )
    return [None if item is None else checked_seed(item) for item in seed]


def checked_seed(seed: Any) -> int:
    """A seed as a Python integer.

    Raises:
        ConfigurationError: It is no integer, or negative.
    """
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigurationError(f"A seed must be an integer of at least 0, not {seed!r}.")
    return int(seed)
