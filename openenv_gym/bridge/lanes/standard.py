"""Lanes on the standard wire: a connection and a session for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from openenv_gym_protocol.codec import written_step
from openenv_gym_protocol.errors import InvalidAction, OpenEnvGymError
from openenv_gym_protocol.messages import AnyRequest, Reply, ResetRequest, WrittenStep

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer, Ask, MakeError, Settle
from openenv_gym.bridge.lanes.group import AnyLane, Episodes
from openenv_gym.bridge.lanes.lane import Lane
from openenv_gym.bridge.lanes.standard_rows import read_rows
from openenv_gym.bridge.rows import Row, Rows
from openenv_gym.bridge.step_batch import ActionArray, encode_action


class LanesAsk:
    """A request to each of some lanes.

    Args:
        source: Who can read the answers.
        call: What is asked, such as ``step``.
        requests: The request to each lane.
    """

    def __init__(self, source: Any, call: str, requests: Sequence[tuple[Lane, AnyRequest]]) -> None:
        self.lanes = tuple([lane.index for lane, _ in requests])
        self.call = call
        self._source = source
        self._requests = requests
        self._open = set(range(len(requests)))
        self._settle: Settle | None = None

    def begin(self, settle: Settle) -> None:
        """Writes the requests."""
        self._settle = settle
        for position, (lane, request) in enumerate(self._requests):
            lane.begin(request, self, position)

    def abandon(self, make_error: MakeError) -> None:
        """Gives up the sessions that have not answered: their connections are poisoned."""
        if self._settle is not None:
            for position in sorted(self._open):
                self._requests[position][0].abandon(make_error())

    def settle(self, position: int, outcome: Reply | OpenEnvGymError) -> None:
        """Takes what came of one request."""
        settle, lane = self._settle, self.lanes[position]
        if settle is None or position not in self._open:
            return
        self._open.remove(position)
        if not self._open:
            self._settle = None  # whoever waits holds this: together they would be garbage for the collector
        if isinstance(outcome, OpenEnvGymError):
            settle(Answer(self._source, self.call, errors={lane: outcome}))
        else:
            settle(Answer(self._source, self.call, (lane,), outcome))


class StandardGroup:
    """The lanes on the standard wire.

    Args:
        lanes: Gives a lane by its index.
        episodes: How the lanes begin their episodes; the caller ends them.
    """

    keeps_episodes = False
    is_divisible = True

    def __init__(self, lanes: Mapping[int, AnyLane], episodes: Episodes) -> None:
        self._lanes = lanes
        self._episodes = episodes

    def ask(self, call: str, requests: Mapping[int, AnyRequest]) -> list[Ask]:
        """Asks lanes whatever the standard wire has."""
        lanes = cast("Mapping[int, Lane]", self._lanes)  # those of the vector wire have a group of their own
        return [LanesAsk(self, call, [(lanes[lane], request) for lane, request in requests.items()])]

    def reset(
        self, seeds: Mapping[int, int | None], once: Mapping[str, Any] | None, timeout: float | None
    ) -> list[Ask]:
        """Asks lanes to reset. The caller gives up what is late."""
        del timeout
        data = {**self._episodes.options, **(once or {})}
        requests = {
            lane: ResetRequest(data=dict(data) if seed is None else {**data, "seed": seed})
            for lane, seed in seeds.items()
        }
        return self.ask("reset", requests)

    def write(self, interface: Interface, actions: Mapping[int, Any], idle: Sequence[int]) -> dict[int, WrittenStep]:
        """Writes an action for each lane; those that reset are asked to reset instead, so that none is idle."""
        assert not idle, "the caller resets lanes on the standard wire"
        if not (isinstance(actions, ActionArray) and actions.array.ndim == 1 and actions.array.dtype.kind in "iu"):
            return {lane: _written(interface, lane, action) for lane, action in actions.items()}
        # Of a few integers, as most lanes have the same ones, each is written once.
        known: dict[int, WrittenStep] = {}
        written: dict[int, WrittenStep] = {}
        for lane, number in zip(actions.lanes, actions.array.tolist(), strict=True):
            if number not in known:
                known[number] = _written(interface, lane, number)
            written[lane] = known[number]
        return written

    def step(
        self, written: Mapping[int, WrittenStep], next_seeds: Mapping[int, int], timeout: float | None
    ) -> list[Ask]:
        """Asks lanes to step. The caller resets them, and gives up what is late."""
        del next_seeds, timeout
        return self.ask("step", written)

    def read(self, interface: Interface, answers: Sequence[Answer], states: LaneStates) -> list[Rows]:
        """Reads the answers of lanes, all together."""
        return [read_rows(interface, answers, states)]

    def read_one(self, interface: Interface, answer: Answer, state: LaneState) -> Row:
        """Reads the answer of the only lane that was asked."""
        return state.reader.read(interface, answer.reply, is_reset=answer.call == "reset")


def _written(interface: Interface, lane: int, action: Any) -> WrittenStep:
    """Writes a lane's action.

    Raises:
        InvalidAction: It is outside its space, or JSON cannot carry it; ``lane`` says whose.
    """
    payload = encode_action(interface, lane, action)
    try:
        return written_step(payload)
    except InvalidAction as error:
        error.lane = lane
        raise
