"""What a vector environment remembers of one lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from openenv_gym_protocol.autoreset import AutoresetMode, End, EpisodeRules, Move
from openenv_gym_protocol.errors import EpisodeOver

from openenv_gym.bridge.rows import RowReader


class LaneState:
    """One lane's rules, generator and seeds.

    Attributes:
        rules: When it resets and when its episode is cut off. A server that keeps episodes has the same.
        reader: Reads its replies.
        must_reset: It failed: whatever its server thinks of its episode, the next step resets it.
        is_in_doubt: It failed, or its row could not be read: its server alone knows whether its episode is over.
    """

    def __init__(self, mode: AutoresetMode, max_steps: int | None) -> None:
        self.rules = EpisodeRules(mode, max_steps)
        self.reader = RowReader()
        self.must_reset = False
        self.is_in_doubt = False
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
        self.must_reset = self.is_in_doubt = False

    @property
    def is_steady(self) -> bool:
        """Whether a step that ends no episode, and has no metadata, changes nothing here but the count of steps."""
        return not self.rules.is_over and not self.is_in_doubt and self.reader.is_bare

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

    def was_reset(self) -> None:
        """Notes that the server reset by itself: the seed that was sent ahead, if there was one, is used up."""
        if self._knows_next:
            self.reset_seed(None, is_new_session=False)

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


class LaneStates(list[LaneState]):
    """What is remembered of all lanes; what plain steps need of it stands in columns too.

    Args:
        count: How many lanes there are.
        mode: What follows the end of an episode.
        max_steps: Steps after which an episode is truncated.

    Attributes:
        seed_applied: What ``seeds.applied`` of each lane was when it was last noted.
    """

    def __init__(self, count: int, mode: AutoresetMode, max_steps: int | None) -> None:
        super().__init__(LaneState(mode, max_steps) for _ in range(count))
        self.seed_applied = np.zeros(count, np.int64)
        self._is_steady = np.zeros(count, np.bool_)
        self._elapsed = np.zeros(count, np.int64)
        self._last = np.iinfo(np.int64).max if max_steps is None else max_steps - 1

    def are_plain(self, lanes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a plain step of each of some lanes would change nothing but the count of steps."""
        are: NDArray[np.bool_] = self._is_steady[lanes] & (self._elapsed[lanes] < self._last)
        return are

    def stepped_plainly(self, lanes: Sequence[int]) -> None:
        """Counts a plain step of some lanes."""
        self._elapsed[np.asarray(lanes, np.int64)] += 1

    def stepped(self, lane: int, *, terminated: bool, truncated: bool) -> End:
        """Notes any other step; see ``EpisodeRules.stepped``."""
        rules = self[lane].rules
        rules.elapsed = int(self._elapsed[lane])
        end = rules.stepped(terminated=terminated, truncated=truncated)
        self._elapsed[lane] = rules.elapsed
        return end

    def begin(self, lane: int) -> None:
        """Notes that an episode began."""
        self[lane].begin()
        self._elapsed[lane] = 0

    def note(self, lane: int) -> None:
        """Brings a lane's columns up to date, after anything but a plain step."""
        state = self[lane]
        self._is_steady[lane] = state.is_steady
        self.seed_applied[lane] = state.reader.seeds.applied


def lanes_over(states: Sequence[LaneState], lanes: Iterable[int]) -> list[int]:
    """Those of some lanes that have to reset when a step is asked of them, as their episodes are over.

    Raises:
        EpisodeOver: There are some and autoreset is disabled; the message names them.
    """
    over = [lane for lane in lanes if states[lane].rules.is_over]
    try:
        return [lane for lane in over if states[lane].rules.plan() is Move.RESET]
    except EpisodeOver as error:
        error.lane = over[0]
        names = f"{'lane' if len(over) == 1 else 'lanes'} {', '.join(map(str, over))}"
        error.args = (
            f"The episode of {names} is over and autoreset is disabled: call "
            'reset(options={"reset_mask": mask}) before the next step, with True in the mask for each lane to reset.',
        )
        raise
