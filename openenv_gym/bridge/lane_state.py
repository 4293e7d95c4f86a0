"""What a vector environment remembers of one lane."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from gymnasium.utils import seeding
from openenv_gym_protocol.autoreset import AutoresetMode, EpisodeRules, Move
from openenv_gym_protocol.errors import EpisodeOver

from openenv_gym.bridge.rows import RowReader


class LaneState:
    """One lane's rules, generator and seeds.

    Attributes:
        rules: When it resets and when its episode is cut off. A server that keeps episodes has the same.
        reader: Reads its replies.
        must_reset: It failed: whatever its server thinks of its episode, the next step resets it.
    """

    def __init__(self, mode: AutoresetMode, max_steps: int | None) -> None:
        self.rules = EpisodeRules(mode, max_steps)
        self.reader = RowReader()
        self.must_reset = False
        self._generator: np.random.Generator | None = None
        self._seed: int | None = None
        self._next: int | None = None
        self._knows_next = False

    def seed(self, seed: int | None) -> None:
        """Starts the generator anew; None leaves it as it is."""
        if seed is not None:
            self._generator, self._seed = seeding.np_random(seed)

    def begin(self) -> None:
        """Notes that an episode began."""
        self.rules.reset()
        self.must_reset = False

    def reset_seed(self, seed: int | None, *, is_new_session: bool) -> int | None:
        """The seed that a reset sends; see ``Seeds.next``."""
        self._knows_next = False
        return self.reader.seeds.next(seed, is_new_session=is_new_session, generator=lambda: self.generator)

    def next_seed(self) -> int | None:
        """The seed of a reset that the server may make by itself; the same until one is made."""
        if not self._knows_next:
            self._next = self.reader.seeds.peek(self.generator)
            self._knows_next = True
        return self._next

    @property
    def generator(self) -> np.random.Generator:
        """The lane's generator, as ``RemoteEnv.np_random`` is a single environment's."""
        if self._generator is None:
            self._generator, self._seed = seeding.np_random()
        return self._generator

    @property
    def np_random_seed(self) -> int:
        """The seed of the generator."""
        _ = self.generator
        assert self._seed is not None  # set together with the generator
        return self._seed


def planned(states: Mapping[int, LaneState]) -> dict[int, Move]:
    """What each of some lanes has to do when a step is asked of it.

    Raises:
        EpisodeOver: The episode of some lanes is over and autoreset is disabled; the message names them.
    """
    try:
        return {lane: state.rules.plan() for lane, state in states.items()}
    except EpisodeOver as error:
        over = [lane for lane, state in states.items() if state.rules.is_over]
        error.lane = over[0]
        lanes = f"{'lane' if len(over) == 1 else 'lanes'} {', '.join(map(str, over))}"
        error.args = (
            f"The episode of {lanes} is over and autoreset is disabled: call "
            'reset(options={"reset_mask": mask}) before the next step, with True in the mask for each lane to reset.',
        )
        raise
