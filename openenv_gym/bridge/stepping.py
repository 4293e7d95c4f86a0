"""Resets and steps that are under way in some lanes of a vector environment, on whichever wire each lane is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import InvalidAction, OpenEnvGymError

from openenv_gym.bridge.failing import Failing
from openenv_gym.bridge.lane_sets import LaneSet, bits_of, lane_set, lanes_in
from openenv_gym.bridge.lane_state import LaneStates, lanes_over
from openenv_gym.bridge.lanes.answers import Answer, Ask
from openenv_gym.bridge.lanes.group import LaneGroup
from openenv_gym.bridge.lanes.lanes import Lanes
from openenv_gym.bridge.lanes.vector import VectorGroup
from openenv_gym.bridge.observations import LastObservations
from openenv_gym.bridge.results import Results
from openenv_gym.bridge.rows import Final, PlainRows, Result, Rows, failed_together
from openenv_gym.bridge.setup import Setup
from openenv_gym.bridge.step_batch import actions_of

_MANY = 16
"""Lanes of which most are read before the last ones have answered, where they answer one by one."""


class Stepping:
    """The resets and steps of all lanes.

    Lanes of several servers are asked in one round. Lanes whose server does not keep episodes are reset from here:
    instead of a step in NEXT_STEP, in a second round in SAME_STEP.

    Args:
        lanes: The lanes.
        setup: What they are made from.
        mode: What follows the end of an episode.
        max_steps: Steps after which an episode is truncated.
        failing: What becomes of a lane that fails in a step.

    Attributes:
        states: What is remembered of each lane.
        observations: The last observation of each lane.
        running: A bit for each lane that was asked and has not settled.
        results: The lanes that settled, and were not taken.
        errors: The lanes that failed, and were not taken.
    """

    def __init__(
        self,
        lanes: Lanes,
        setup: Setup,
        mode: AutoresetMode,
        max_steps: int | None,
        failing: Failing,
    ) -> None:
        self.states = LaneStates(len(lanes), mode, max_steps)
        self.observations = LastObservations(setup.observation_space, len(lanes))
        self.running = 0
        self.results = Results(len(lanes))
        self.errors: dict[int, OpenEnvGymError] = {}
        self._lanes = lanes
        self._setup = setup
        self._mode = mode
        self._failing = failing
        self._resetting = 0
        self._again: list[int] = []
        self._ended: dict[int, Result] = {}

    @property
    def busy(self) -> int:
        """A bit for each lane that is running, or whose result or error was not taken."""
        busy = self.running | self.results.bits
        return busy | bits_of(self.errors) if self.errors else busy

    def reset(self, chosen: LaneSet, seeds: Mapping[int, int | None], once: Mapping[str, Any] | None) -> None:
        """Begins to reset lanes, connecting those that have no session.

        Args:
            chosen: The lanes, of which none is running.
            seeds: The seed of each, or None.
            once: Reset options that go before the constructor's this once.
        """
        self._lanes.guard.is_at_work = True
        for lane in chosen.lanes:
            self.states[lane].seed(seeds[lane])
        self._resetting |= chosen.bits
        self.running |= chosen.bits
        self._lanes.start(self._resets(chosen.lanes, seeds, once), self._setup.timeouts.reset)

    def step(self, chosen: LaneSet, actions: Mapping[int, Any], *, is_awaited: bool = False) -> None:
        """Begins a step.

        Args:
            chosen: The lanes, of which none is running.
            actions: An action for each.
            is_awaited: The caller does nothing else until it has ended, so that it may end here.

        Raises:
            EpisodeOver: A lane's episode is over and autoreset is disabled. Nothing was sent.
            InvalidAction: An action is outside its space. Nothing was sent.
        """
        interface = self._setup.interface()
        over = lanes_over(self.states, chosen)
        resets = [lane for lane in over if not self._is_kept(lane)] if over else []
        # Every action is written before anything is sent or drawn: a wrong one leaves all lanes as they were.
        written = []
        asked = [lane for lane in chosen.lanes if lane not in resets] if resets else chosen.lanes
        for group, lanes in self._lanes.grouped(asked):
            members = lane_set(lanes, len(self.states))
            idle = [lane for lane in over if members.bits >> lane & 1] if over else []
            try:
                written.append((group, members, idle, group.write(interface, actions_of(actions, members), idle)))
            except InvalidAction as error:
                error.args = (f"{error.message} [lane {error.lane}]",)
                raise
        self._lanes.guard.is_at_work = True
        self.running |= chosen.bits
        asks: dict[float | None, list[Ask]] = {}
        for group, members, idle, batch in written:
            timeout = self._timeout(group, may_reset=bool(idle))
            seeds = self.states.next_seeds(members, idle) if group.keeps_episodes else {}
            is_alone = is_awaited and members is chosen and not self._again
            if is_alone and self._repeat(group, batch, seeds, timeout):
                return
            asks.setdefault(timeout, []).extend(group.step(batch, seeds, timeout))
        if resets:
            asks.setdefault(self._setup.timeouts.reset, []).extend(self._resets(resets, dict.fromkeys(resets), None))
        for timeout, together in asks.items():
            self._lanes.start(together, timeout)
        if self._again:
            self._reset_again()

    def _repeat(self, group: LaneGroup, batch: Any, seeds: Mapping[int, int], timeout: float | None) -> bool:
        """Takes a step of all lanes that is like the one before, if it is such; whether it was sent."""
        if not isinstance(group, VectorGroup):
            return False
        again = group.again(batch, seeds, self.states.seeds_version, timeout)
        return again is not None and self._lanes.repeat(again, timeout)

    def settle(self, wanted: int, timeout: float | None = None, *, at_least: int | None = None) -> bool:
        """Waits until lanes have settled.

        Args:
            wanted: A bit for each lane to wait for.
            timeout: Seconds to wait; None to wait until the deadline of the calls themselves.
            at_least: How many of them are enough; None for all.

        Returns:
            Whether they have.
        """
        self._lanes.guard.is_at_work = True  # an interrupt of the wait loses what is waited for
        spare = 0 if at_least is None else max(wanted.bit_count() - at_least, 0)
        end = None if timeout is None else time.monotonic() + timeout
        if (wanted & self.running).bit_count() <= spare:
            self._read()  # nothing has to be waited for, and what is there is taken
        while (open_lanes := (wanted & self.running).bit_count()) > spare:
            # Others that run beside them may come first.
            needed = 1 if self.running & ~wanted else open_lanes - spare
            later = needed // 3 if needed >= _MANY and spare == 0 else 0
            left = None if end is None else end - time.monotonic()
            in_time = self._lanes.wait(needed - later, left, later=later)
            self._read()
            if not in_time:
                break
        return (wanted & self.running).bit_count() <= spare

    def give_up(self, reason: str) -> None:
        """Gives up what is under way; its lanes are lost."""
        self._lanes.guard.is_at_work = True
        self.forget()
        self._lanes.give_up(reason)

    def forget(self) -> None:
        """Forgets what is under way and what was not taken."""
        self.running = self._resetting = 0
        self.results.clear()
        self.errors.clear()
        self._ended.clear()
        self._again.clear()

    def _resets(
        self, lanes: Sequence[int], seeds: Mapping[int, int | None], once: Mapping[str, Any] | None
    ) -> list[Ask]:
        """Connects lanes where that must be, and asks them to reset; those that cannot be connected fail."""
        if not lanes:
            return []
        interface = self._setup.interface(lanes)
        failures = self._lanes.connect(lanes)
        asks: list[Ask] = []
        for group, members in self._lanes.grouped(lane for lane in lanes if lane not in failures):
            sent = {}
            for lane in members:
                state = self.states[lane]
                state.reader.use(interface)
                sent[lane] = state.reset_seed(seeds[lane], is_new_session=self._lanes[lane].is_new_session)
            asks += group.reset(sent, once, self._setup.timeouts.reset)
        for lane, error in failures.items():
            self._fail(lane, error)
        return asks

    def _is_kept(self, lane: int) -> bool:
        """Whether a lane whose episode is over resets by itself when it is asked to step."""
        is_alive = not self._lanes[lane].needs_connection
        return self._lanes.group_of(lane).keeps_episodes and is_alive and not self.states[lane].must_reset

    def _timeout(self, group: LaneGroup, *, may_reset: bool) -> float | None:
        timeouts = self._setup.timeouts
        # A server that resets within a step answers when it has done both.
        if not (group.keeps_episodes and (self._mode is AutoresetMode.SAME_STEP or may_reset)):
            return timeouts.step
        return None if timeouts.step is None or timeouts.reset is None else max(timeouts.step, timeouts.reset)

    def _read(self) -> None:
        interface = self._setup.interface()
        by_source: dict[int, list[Answer]] = {}
        for answer in self._lanes.take():
            by_source.setdefault(id(answer.source), []).append(answer)
        for answers in by_source.values():
            group: LaneGroup = answers[0].source
            for rows in group.read(interface, answers, self.states):
                self._note(rows if not rows.errors or self._may_go_on(group) else failed_together(rows))
        if self._again:
            self._reset_again()

    def _may_go_on(self, group: LaneGroup) -> bool:
        """Whether lanes of a group go on beside one that failed.

        A failed lane that goes on is reset: in some groups not without the others, whose episodes end with its.
        """
        return group.is_divisible or not self._failing.goes_on

    def _note(self, rows: Rows) -> None:
        if rows.leaves is not None:
            self.observations.put_leaves(rows.lanes if rows.observed is None else rows.observed, rows.leaves)
        else:
            self.observations.put(rows.lanes, rows.values)
        if rows.plain is not None:
            self._stepped_plainly(rows.plain)
        for lane, result in zip(rows.lanes, rows.results, strict=True):
            if result.is_reset:
                self._begun(lane, result)
            else:
                self._stepped(lane, result)
        for lane, error in rows.errors.items():
            self._lanes.name(error, lane)
            self._fail(lane, error)

    def _reset_again(self) -> None:
        """Resets the lanes whose step asks for it: on the standard wire those that finished, in SAME_STEP."""
        while self._again:
            lanes, self._again = self._again, []
            self._lanes.start(self._resets(lanes, dict.fromkeys(lanes), None), self._setup.timeouts.reset)

    def _begun(self, lane: int, result: Result) -> None:
        self.states.begin(lane)
        self._failing.succeeded((lane,))
        ended = self._ended.pop(lane, None)
        # In SAME_STEP the step that came before gives all but the info.
        self._done(lane, result if ended is None else ended._replace(info=result.info))

    def _stepped(self, lane: int, result: Result) -> None:
        state = self.states[lane]
        state.is_in_doubt = False
        end = self.states.stepped(lane, terminated=result.terminated, truncated=result.truncated)
        if end.truncated is not result.truncated:
            result = result._replace(truncated=end.truncated)
        if result.final is not None:
            self.states.begin(lane)
        if result.final is None and end.reset_now:
            self._end(lane, result)
            return
        self._done(lane, result)

    def _stepped_plainly(self, rows: PlainRows) -> None:
        """Does what ``_stepped`` and ``_begun`` do, for rows of numbers."""
        self.states.stepped_plainly(rows)
        self._failing.succeeded(lanes_in(rows.begun))
        self.running &= ~rows.bits
        self.results.add_plain(rows)

    def _end(self, lane: int, result: Result) -> None:
        """Keeps the step of a lane that has to be reset within it."""
        self._ended[lane] = result._replace(final=Final(self.observations.value(lane), result.info))
        self._again.append(lane)

    def _fail(self, lane: int, error: OpenEnvGymError) -> None:
        self.states[lane].is_in_doubt = True
        self.states.note(lane)
        info = None if self._resetting >> lane & 1 else self._failing.info(lane, error)
        if info is None:
            self._settled(lane)
            self._ended.pop(lane, None)
            self.errors[lane] = error
            return
        state = self.states[lane]
        state.rules.is_over = state.must_reset = True
        self.states.note(lane)
        missing = state.reader.info({}, reward_missing=True)
        result = Result(0.0, terminated=False, truncated=True, info={**missing, **info})
        if self._mode is not AutoresetMode.SAME_STEP:
            self._done(lane, result)
        elif lane in self._ended:
            self._again.append(lane)
        else:
            self._end(lane, result)

    def _done(self, lane: int, result: Result) -> None:
        self._settled(lane)
        self.results.add(lane, result)

    def _settled(self, lane: int) -> None:
        self.running &= ~(1 << lane)
        self._resetting &= ~(1 << lane)
