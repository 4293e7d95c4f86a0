"""Lanes on the vector wire: one connection for all that are at one server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.client_session import lost_session
from openenv_gym_protocol.errors import OpenEnvGymError, ProtocolFailure, copied
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import little_endian
from openenv_gym_protocol.vector.frames import Request

from openenv_gym.bridge.columns import IDLE, ActionWriter, ObservationReader
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer, Ask, MakeError, Settle
from openenv_gym.bridge.lanes.group import Episodes
from openenv_gym.bridge.lanes.link import LinkAsk, VectorLink
from openenv_gym.bridge.lanes.repeating import Manner, Repeater, StepAgain
from openenv_gym.bridge.lanes.vector_rows import RowsReader
from openenv_gym.bridge.rows import Row, Rows
from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.step_batch import ActionArray
from openenv_gym.transports.base import Connection

DEADLINE_SLACK = 5.0
"""Seconds after the client's own time-out at which the server gives a request up, should no cancel reach it."""


class VectorLane:
    """A lane of a link, as the caller's thread sees it.

    Attributes:
        index: Its place in the vector environment.
        number: Its number on the wire.
        session_id: The client's name for it.
    """

    def __init__(self, index: int, link: VectorLink, number: int, group: VectorGroup) -> None:
        self.index = index
        self.number = number
        self.group = group
        self.session_id: str | None = f"{link.name}/{number}"
        self.was_reset = False
        self._link = link

    @property
    def server(self) -> Server | None:
        """Where it is connected, or was."""
        return self._link.server

    @property
    def needs_connection(self) -> bool:
        """Whether it is lost."""
        return self.number not in self._link.session.lanes

    @property
    def is_new_session(self) -> bool:
        """Whether the next reset is its first."""
        return not self.was_reset or self.needs_connection

    @property
    def is_unused(self) -> bool:
        """Never: it was opened."""
        return False

    @property
    def connection(self) -> Connection | None:
        """What its link's requests are written to."""
        return self._link.connection

    @property
    def cause(self) -> OpenEnvGymError | None:
        """Why it is lost, where that is known."""
        return self._link.cause_of(self.number)

    def let_go(self, error: OpenEnvGymError) -> None:
        """Ends the session, on the event loop. Nothing waits for that."""
        self._link.note_cause([self.number], error)
        self._link.close_lanes([self.number])


@dataclass(frozen=True)
class Written:
    """The actions of one step: of each lane, in their order."""

    lanes: Sequence[int]
    actions: list[Any] | NDArray[Any]

    def of(self, lanes: Sequence[int]) -> list[Any] | NDArray[Any]:
        """Those of some of the lanes, in the same order."""
        if len(lanes) == len(self.lanes):
            return self.actions
        chosen = set(lanes)
        places = [place for place, lane in enumerate(self.lanes) if lane in chosen]
        return self.actions[places] if isinstance(self.actions, np.ndarray) else [self.actions[at] for at in places]


class LostAsk:
    """What is asked of lanes that are gone: they fail at once, and the others do not.

    Args:
        source: Whose lanes they are.
        call: What is asked.
        lanes: The lanes.
    """

    def __init__(self, source: Any, call: str, lanes: Sequence[VectorLane]) -> None:
        self.lanes = tuple(lane.index for lane in lanes)
        self._causes = {lane.index: lane.cause for lane in lanes}
        self.call = call
        self._source = source

    def begin(self, settle: Settle) -> None:
        """Fails them."""
        lost = {lane: lost_session(self.call, cause) for lane, cause in self._causes.items()}
        settle(Answer(self._source, self.call, errors=lost))

    def abandon(self, make_error: MakeError) -> None:
        """Nothing is left to give up."""


class VectorGroup:
    """The lanes of one link.

    Args:
        link: The connection.
        episodes: How the lanes begin and end their episodes; the server does it.
    """

    keeps_episodes = True

    def __init__(self, link: VectorLink, episodes: Episodes) -> None:
        self.link = link
        self._episodes = episodes
        self._lanes: dict[int, VectorLane] = {}
        self._forms: _Forms | None = None
        self._numbers: tuple[Sequence[int], dict[int, int]] = ((), {})
        self._repeater = Repeater(link)

    @property
    def is_divisible(self) -> bool:
        """Whether the server can reset and step some of the lanes without the others."""
        opened = self.link.opened
        return opened is None or (opened.partial_resets and opened.partial_steps)

    def add(self, lane: VectorLane) -> None:
        """Adds a lane, in place of an earlier one of the same index."""
        self._lanes[lane.index] = lane
        self._numbers = ((), {})

    def reset(
        self, seeds: Mapping[int, int | None], once: Mapping[str, Any] | None, timeout: float | None
    ) -> list[Ask]:
        """Asks lanes to reset."""
        for lane in seeds:
            self._lanes[lane].was_reset = True
        return self.ask(
            "reset",
            list(seeds),
            lambda number, lanes: frames.Reset(
                id=number,
                lanes=self.numbers(lanes),
                seeds=_given([seeds[lane] for lane in lanes]),
                options=dict(once) if once else None,
                deadline=_deadline(timeout),
            ),
        )

    def write(self, interface: Interface, actions: Mapping[int, Any], idle: Sequence[int]) -> Written:
        """Writes an action for each lane; one that is not looked at for those that reset in this step."""
        writer = self._forms_of(interface).actions
        if isinstance(actions, ActionArray):
            array = writer.write_array(actions.array, actions.places(idle))
            if array is not None:
                return Written(actions.lanes, array)
        given = dict(actions.items())
        given.update(dict.fromkeys(idle, IDLE))
        lanes = tuple(sorted(given))
        return Written(lanes, writer.write({lane: given[lane] for lane in lanes}))

    def step(self, written: Written, next_seeds: Mapping[int, int], timeout: float | None) -> list[Ask]:
        """Asks lanes to step."""
        assert self._forms is not None  # write() made them
        batch = self._forms.actions.batch
        return self.ask(
            "step",
            written.lanes,
            lambda number, lanes: frames.Step(
                id=number,
                lanes=self.numbers(lanes),
                actions=batch(written.of(lanes)),
                next_seeds=_ahead(next_seeds, lanes),
                deadline=_deadline(timeout),
            ),
        )

    def again(
        self, written: Written, next_seeds: Mapping[int, int], seeds_version: int, timeout: float | None
    ) -> StepAgain | None:
        """A step that is like the one before; None where there is no such.

        Args:
            written: The actions.
            next_seeds: As for ``step``.
            seeds_version: Another number with other seeds.
            timeout: As for ``step``.
        """
        actions = written.actions
        if not isinstance(actions, np.ndarray):
            return None
        numbers = self._by_number(written.lanes)
        manner = Manner(actions.nbytes, _deadline(timeout), seeds_version)
        forms = self._repeater.forms(tuple(numbers), manner, partial(_ahead, next_seeds, written.lanes))
        if forms is None:
            return None
        answer = partial(Answer, self, "step", written.lanes)
        ask = partial(LinkAsk, self, self.link, numbers, "step", _never)
        return StepAgain(self.link, forms, little_endian(actions), answer, ask)

    def read(self, interface: Interface, answers: Sequence[Answer], states: LaneStates) -> list[Rows]:
        """Reads answers to resets and steps, each for itself."""
        return [self._read(interface, answer, states) for answer in answers]

    def read_one(self, interface: Interface, answer: Answer, state: LaneState) -> Row:
        """Reads an answer of the only lane that was asked."""
        if answer.call == "step":
            self._repeater.learn(answer.reply)
        return self._forms_of(interface).rows.one(answer, state)

    def _read(self, interface: Interface, answer: Answer, states: LaneStates) -> Rows:
        if not answer.lanes:
            return Rows(errors=dict(answer.errors))
        try:
            if answer.call == "step":
                self._repeater.learn(answer.reply)
            return self._forms_of(interface).rows.read(answer, states)
        except OpenEnvGymError as error:
            # What a server says in a form that was not agreed on is true of no lane.
            return Rows(errors={**answer.errors, **{lane: copied(error) for lane in answer.lanes}})

    def ask(self, call: str, lanes: Sequence[int], request: Callable[[int, Sequence[int]], Request]) -> list[Ask]:
        """Asks lanes anything.

        Args:
            call: The name of what is asked.
            lanes: The lanes; those that are lost fail by themselves.
            request: Makes the request, given its id and the lanes that are left.
        """
        alive, left = self.link.session.lanes, lanes
        asks: list[Ask] = []
        if not alive.issuperset(self._by_number(lanes)):
            lost = [lane for lane in lanes if self._lanes[lane].number not in alive]
            left = [lane for lane in lanes if lane not in lost]
            asks.append(LostAsk(self, call, [self._lanes[lane] for lane in lost]))
        if left:
            asks.append(LinkAsk(self, self.link, self._by_number(left), call, lambda number: request(number, left)))
        return asks

    def numbers(self, lanes: Sequence[int]) -> list[int]:
        """The lanes' numbers on the wire."""
        return list(self._by_number(lanes))

    def _by_number(self, lanes: Sequence[int]) -> dict[int, int]:
        """The lanes by their numbers on the wire. Those of the last call are known, as most are about the same."""
        known, numbers = self._numbers
        if lanes is not known and lanes != known:
            numbers = {self._lanes[lane].number: lane for lane in lanes}
            self._numbers = (lanes, numbers)
        return numbers

    def _forms_of(self, interface: Interface) -> _Forms:
        if self._forms is None or self._forms.interface is not interface:
            self._forms = self._made_forms(interface)
        return self._forms

    def _made_forms(self, interface: Interface) -> _Forms:
        opened, limit = self.link.opened, self.link.server.options.max_frame_bytes
        assert opened is not None  # lanes are added once they were opened
        try:
            observations = ObservationReader(interface, opened, limit)
            rows = RowsReader(observations, self._episodes.autoreset)
            return _Forms(interface, ActionWriter(interface, opened, limit), rows)
        except ProtocolFailure:
            raise
        except Exception as error:
            # Whatever it is, it is what the server states that cannot be read.
            raise ProtocolFailure(f"The server states spaces that cannot be read: {error}") from error


@dataclass(frozen=True)
class _Forms:
    """How the link's rows are written and read."""

    interface: Interface
    actions: ActionWriter
    rows: RowsReader


def _ahead(seeds: Mapping[int, int], lanes: Sequence[int]) -> list[int | None] | None:
    return list(map(seeds.get, lanes)) if seeds else None


def _never(number: int) -> Request:
    raise AssertionError(f"request {number} was written already")


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else timeout + DEADLINE_SLACK


def _given(seeds: list[int | None]) -> list[int | None] | None:
    return None if all(seed is None for seed in seeds) else seeds
