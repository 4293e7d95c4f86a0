"""Lanes on the standard wire: a connection and a session for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.messages import ObservationReply, Reply, Request, ResetRequest, StepRequest

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_state import LaneState
from openenv_gym.bridge.lanes.answers import Answer, MakeError, Settle
from openenv_gym.bridge.lanes.group import AnyLane, Episodes
from openenv_gym.bridge.lanes.lane import Lane
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.rows import Rows
from openenv_gym.bridge.step_batch import encode_action


def _leaves(interface: Interface, answers: Sequence[Answer]) -> Leaves | None:
    """The observations of all replies as arrays; None where they have to be read one by one."""
    replies = [answer.reply for answer in answers]
    if len(replies) < 2 or not all(type(reply) is ObservationReply for reply in replies):
        return None
    return interface.observation_leaves([reply.data.observation for reply in replies])


def _first_lane(answer: Answer) -> int:
    return answer.lanes[0]


class LaneAsk:
    """A request to one lane.

    Args:
        source: Who can read its answer.
        lane: The lane.
        request: The request.
    """

    def __init__(self, source: Any, lane: Lane, request: Request) -> None:
        self.lanes = (lane.index,)
        self.call: str = request.type
        self._source = source
        self._lane = lane
        self._request = request
        self._settle: Settle | None = None

    def begin(self, settle: Settle) -> None:
        """Writes the request."""
        self._settle = settle
        self._lane.begin(self._request, self, 0)

    def abandon(self, make_error: MakeError) -> None:
        """Gives up the session, if it has not answered: its connection is poisoned."""
        if self._settle is not None:
            self._lane.abandon(make_error())

    def settle(self, position: int, outcome: Reply | OpenEnvGymError) -> None:  # noqa: ARG002
        """Takes what came of the request."""
        settle, self._settle = self._settle, None
        if settle is None:
            return
        if isinstance(outcome, OpenEnvGymError):
            settle(Answer(self._source, self.call, errors={self._lane.index: outcome}))
        else:
            settle(Answer(self._source, self.call, self.lanes, outcome))


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

    def ask(self, requests: Mapping[int, Request]) -> list[LaneAsk]:
        """Asks lanes whatever the standard wire has."""
        return [LaneAsk(self, self._lane(lane), request) for lane, request in requests.items()]

    def reset(
        self, seeds: Mapping[int, int | None], once: Mapping[str, Any] | None, timeout: float | None
    ) -> list[LaneAsk]:
        """Asks lanes to reset. The caller gives up what is late."""
        del timeout
        data = {**self._episodes.options, **(once or {})}
        return self.ask(
            {
                lane: ResetRequest(data=dict(data) if seed is None else {**data, "seed": seed})
                for lane, seed in seeds.items()
            }
        )

    def write(self, interface: Interface, actions: Mapping[int, Any], idle: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Writes an action for each lane; those that reset are asked to reset instead, so that none is idle."""
        assert not idle, "the caller resets lanes on the standard wire"
        return {lane: encode_action(interface, lane, action) for lane, action in actions.items()}

    def step(
        self, written: Mapping[int, dict[str, Any]], next_seeds: Mapping[int, int], timeout: float | None
    ) -> list[LaneAsk]:
        """Asks lanes to step. The caller resets them, and gives up what is late."""
        del next_seeds, timeout
        return self.ask({lane: StepRequest(data=payload) for lane, payload in written.items()})

    def read(self, interface: Interface, answers: Sequence[Answer], states: Sequence[LaneState]) -> list[Rows]:
        """Reads the answers of lanes, all together."""
        rows = Rows()
        found: list[Answer] = []
        for answer in answers:
            if answer.errors:
                rows.errors.update(answer.errors)
            else:
                found.append(answer)
        # In the lanes' order, so that the arrays of all of them are the batch.
        found.sort(key=_first_lane)
        leaves = _leaves(interface, found)
        kept = []
        for number, answer in enumerate(found):
            lane, is_reset = answer.lanes[0], answer.call == "reset"
            reader = states[lane].reader
            try:
                if leaves is None:
                    row = reader.read(interface, answer.reply, is_reset=is_reset)
                else:
                    row = reader.row(None, answer.reply.data, is_reset=is_reset)
            except OpenEnvGymError as error:
                rows.errors[lane] = error
            else:
                kept.append(number)
                rows.add(lane, row, is_reset=is_reset)
        if leaves is not None:
            is_whole = len(kept) == len(found)
            rows.leaves = leaves if is_whole else {path: array[kept] for path, array in leaves.items()}
        return [rows]

    def _lane(self, index: int) -> Lane:
        lane = self._lanes[index]
        assert isinstance(lane, Lane)  # lanes of the vector wire have a group of their own
        return lane
