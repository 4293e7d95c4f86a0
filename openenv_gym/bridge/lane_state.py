"""What a vector environment remembers of one lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from openenv_gym_protocol.autoreset import AutoresetMode, End, EpisodeRules, Move
from openenv_gym_protocol.errors import EpisodeOver

from openenv_gym.bridge.lane_sets import LaneSet, all_lanes, bits_of, lanes_in
from openenv_gym.bridge.rows import PlainRows, RowReader


class Phase(IntEnum):
    """What a lane's next row is, where there is nothing to say of it but numbers."""

    NONE = 0
    """It failed, was never reset, or its infos have keys of their own."""
    RUNNING = 1
    """A step."""
    OVER = 2
    """The reset that follows its episode's end."""


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
    def phase(self) -> Phase:
        """What its next row is."""
        if self.is_in_doubt or self.must_reset or not self.reader.is_bare:
            return Phase.NONE
        return Phase.OVER if self.rules.is_over else Phase.RUNNING

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
        over: A bit for each lane whose episode is over.
        phases: Of each lane, ``LaneState.phase``.
        seed_applied: Of each lane, ``seeds.applied``.
        version: Another number whenever one of these three is.
        seeds_version: Another number whenever other seeds are sent ahead.
    """

    def __init__(self, count: int, mode: AutoresetMode, max_steps: int | None) -> None:
        super().__init__(LaneState(mode, max_steps) for _ in range(count))
        self.over = 0
        self.phases = np.zeros(count, np.uint8)
        self.seed_applied = np.zeros(count, np.int8)
        self.version = 0
        self._mode = mode
        self._elapsed = np.zeros(count, np.int64)
        self._last = None if max_steps is None else max_steps - 1
        self.seeds_version = 0
        self._ahead: dict[int, int] = {}
        self._is_ahead = 0

    def are_before_the_limit(self, lanes: LaneSet) -> NDArray[np.bool_] | None:
        """Whether the next step of each of some lanes is not the last that its episode may have; None: no limit."""
        return None if self._last is None else self._elapsed[lanes.index] < self._last

    def stepped_plainly(self, rows: PlainRows) -> None:
        """Counts plain steps, and notes the episodes that ended and began; all else of the lanes stays as it is."""
        if self._last is not None:
            self._elapsed[rows.chosen.index] += 1
            for lane in lanes_in(rows.others):
                self._elapsed[lane] -= 1
        for lane in lanes_in(rows.terminated | rows.truncated):
            self[lane].rules.is_over = True
            self.note(lane)
        for lane in lanes_in(rows.begun):
            self[lane].reader.seeds.applied = int(rows.seed_applied[rows.chosen.places[lane]])
            self.begin(lane)

    def stepped(self, lane: int, *, terminated: bool, truncated: bool) -> End:
        """Notes any other step; see ``EpisodeRules.stepped``."""
        rules = self[lane].rules
        rules.elapsed = int(self._elapsed[lane])
        end = rules.stepped(terminated=terminated, truncated=truncated)
        self._elapsed[lane] = rules.elapsed
        self.note(lane)
        return end

    def begin(self, lane: int) -> None:
        """Notes that an episode began."""
        self[lane].begin()
        self._elapsed[lane] = 0
        self.note(lane)

    def note(self, lane: int) -> None:
        """Brings the attributes up to date, after anything but a plain step."""
        state, bit = self[lane], 1 << lane
        self.over = self.over | bit if state.rules.is_over else self.over & ~bit
        self._is_ahead &= ~bit
        self.phases[lane] = state.phase
        self.seed_applied[lane] = state.reader.seeds.applied
        self.version += 1

    def next_seeds(self, lanes: LaneSet, idle: Sequence[int]) -> Mapping[int, int]:
        """The seeds that are sent ahead with a step.

        In NEXT_STEP to all lanes too: of an episode whose last row could not be read, the server alone knows that it
        is over.

        Args:
            lanes: The lanes that are asked.
            idle: Those of them that reset in it.

        Returns:
            The seeds of those lanes that are sent one, in this step.
        """
        if self._mode is AutoresetMode.DISABLED:
            return {}
        for lane in idle:
            self._send_ahead(lane, self[lane].reset_seed(None, is_new_session=False))
        unknown = lanes.bits & ~self._is_ahead
        if unknown:
            unknown &= ~bits_of(idle)
            for lane in lanes_in(unknown):
                self._send_ahead(lane, self[lane].next_seed())
            self._is_ahead |= unknown
        if not self._ahead or lanes is all_lanes(len(self)):
            return self._ahead
        return {lane: self._ahead[lane] for lane in lanes.lanes if lane in self._ahead}

    def _send_ahead(self, lane: int, seed: int | None) -> None:
        if self._ahead.get(lane) == seed:
            return
        self.seeds_version += 1
        self._ahead.pop(lane, None)
        if seed is not None:
            self._ahead[lane] = seed


def lanes_over(states: LaneStates, lanes: LaneSet) -> list[int]:
    """Those of some lanes that have to reset when a step is asked of them, as their episodes are over.

    Raises:
        EpisodeOver: There are some and autoreset is disabled; the message names them.
    """
    bits = states.over & lanes.bits
    if not bits:
        return []
    over = lanes_in(bits)
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
