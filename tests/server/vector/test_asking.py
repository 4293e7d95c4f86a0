from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import REWARD_MISSING, TERMINATED, TRUNCATED, Batch, Rows

from tests.support.servers import RunningServer, running_server
from tests.support.vector_client import Table, VectorSocket, server_faults, vector_socket
from tests.support.walks import GymnasiumWalk, layout

LANES = 5


@pytest.fixture(scope="module", params=["thread", "inline"])
def execution(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["app", "begun_app"])
def app(request: pytest.FixtureRequest) -> str:
    return f"tests.support.apps.walk_values:{request.param}"


@pytest.fixture(scope="module")
def server(app: str, execution: str) -> Iterator[RunningServer]:
    with running_server(app, env={"TEST_EXECUTION": execution}) as server:
        yield server
        assert server_faults(server) == []


def stepped(socket: VectorSocket, lanes: Sequence[int], actions: Sequence[int]) -> list[Rows]:
    columns = layout("action").pack_batch(np.asarray(actions, np.int64), len(lanes))
    return socket.parts(socket.send(frames.Step, lanes=list(lanes), actions=Batch(columns=columns)))


def observations(parts: Sequence[Rows], *, final: bool = False) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for part in parts:
        lanes = part.lanes if part.final is None or not final else [part.lanes[row] for row in part.final.rows]
        told = part.observations if not final else None if part.final is None else part.final.observations
        if told is not None and told.columns is not None:
            found |= dict(zip(lanes, layout("observation").unpack(told.columns, len(lanes)), strict=True))
    return found


def plain(batch: Any, row: int) -> Any:
    packed = [np.asarray(leaf[row]).tolist() for leaf in layout("observation").take_apart(batch)]
    return layout("observation").assemble(packed)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_environment_that_is_stepped_by_values_says_what_gymnasium_says(socket: VectorSocket, mode: str) -> None:
    lanes = socket.open(LANES, autoreset=mode)
    local = SyncVectorEnv([GymnasiumWalk] * LANES, autoreset_mode=AutoresetMode(mode))
    drawn = np.random.default_rng(3)
    first, _ = local.reset(seed=list(range(LANES)))
    parts = socket.parts(socket.send(frames.Reset, lanes=lanes, seeds=list(range(LANES))))
    assert observations(parts) == {lane: plain(first, lane) for lane in lanes}
    ends = 0
    for _ in range(40):
        actions = drawn.integers(-1, 2, LANES)
        values, rewards, terminated, truncated, infos = local.step(actions)
        parts = stepped(socket, lanes, actions.tolist())
        table = Table(parts)
        assert observations(parts) == {lane: plain(values, lane) for lane in lanes}
        assert [table.rewards[lane] for lane in lanes] == rewards.tolist()
        assert [bool(table.flags[lane] & TERMINATED) for lane in lanes] == terminated.tolist()
        assert [bool(table.flags[lane] & TRUNCATED) for lane in lanes] == truncated.tolist()
        assert [table.infos[lane]["steps"] for lane in lanes] == infos["steps"].tolist()
        if mode == "SameStep" and "final_obs" in infos:
            ended = [lane for lane in lanes if infos["_final_obs"][lane]]
            finals = {lane: infos["final_obs"][lane] for lane in ended}
            told = {lane: layout("observation").take_apart(final) for lane, final in finals.items()}
            assert observations(parts, final=True) == {
                lane: layout("observation").assemble([np.asarray(leaf).tolist() for leaf in leaves])
                for lane, leaves in told.items()
            }
        ends += int(np.sum(terminated | truncated))
    assert ends > LANES


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("raise", "ExecutionError"),
        ("nan", "ExecutionError"),
        ("info", "ExecutionError"),
        ("misfit", "InvalidObservation"),
    ],
)
def test_what_step_values_does_wrong_fails_its_lane_only(
    server: RunningServer, socket: VectorSocket, wrong: str, kind: str
) -> None:
    lanes = socket.open(3)
    socket.reset(lanes)
    socket.reset(lanes[1:2], options={"wrong": wrong})
    table = Table(stepped(socket, lanes, [0, 0, 0]))
    assert {lane: told.kind for lane, told in table.failures.items()} == {1: kind}
    assert set(table.rewards) == {0, 2}
    socket.reset(lanes[1:2])
    assert not Table(stepped(socket, lanes, [0, 0, 0])).failures


@pytest.mark.parametrize("app", ["tests.support.apps.walk_values:begun_app"])
@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("not begun", "ExecutionError"),
        ("the value alone", "ExecutionError"),
        ("info at once", "ExecutionError"),
        ("misfit at once", "InvalidObservation"),
        ("not begun, refused", "InvalidMessage"),
    ],
)
def test_what_reset_values_does_wrong_fails_its_lane_only(app: str, execution: str, wrong: str, kind: str) -> None:
    with running_server(app, env={"TEST_EXECUTION": execution}) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        request = socket.send(frames.Reset, lanes=lanes[1:2], options={"wrong": wrong})
        assert {lane: told.kind for lane, told in Table(socket.parts(request)).failures.items()} == {1: kind}
        assert set(Table(stepped(socket, lanes[:1], [0])).rewards) == {0}
        socket.reset(lanes[1:2])
        assert not Table(stepped(socket, lanes, [0, 0])).failures
        assert server_faults(server) == []


@pytest.mark.parametrize("app", ["tests.support.apps.walk_values:overridden_app"])
def test_a_subclass_with_a_reset_and_a_step_of_its_own_has_them_called(app: str, execution: str) -> None:
    with running_server(app, env={"TEST_EXECUTION": execution}) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        begun = Table(socket.parts(socket.send(frames.Reset, lanes=lanes)))
        assert begun.infos == {lane: {"by": "reset"} for lane in lanes}
        assert Table(stepped(socket, lanes, [0, 1])).infos == {lane: {"by": "step"} for lane in lanes}


def test_an_option_that_the_signature_of_reset_excludes_reaches_no_episode(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    request = socket.send(frames.Reset, lanes=lanes, options={"start": "far"})
    assert Table(socket.parts(request)).failures[0].kind == "InvalidMessage"


def test_an_action_that_step_values_refuses_is_the_client_own(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    socket.reset(lanes, options={"wrong": "refuse"})
    failure = Table(stepped(socket, lanes, [0])).failures[0]
    assert (failure.kind, failure.message) == ("InvalidMessage", "not this one")


def test_an_action_outside_its_space_reaches_no_step_values(socket: VectorSocket) -> None:
    lanes = socket.open(3)
    socket.reset(lanes)
    table = Table(stepped(socket, lanes, [0, 5, 1]))
    assert {lane: told.kind for lane, told in table.failures.items()} == {1: "InvalidAction"}
    assert table.infos == {0: {"steps": 1}, 2: {"steps": 1}}
    assert Table(stepped(socket, lanes[1:2], [0])).infos == {1: {"steps": 1}}


def test_a_reward_that_is_missing_is_told_as_such(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    socket.reset(lanes, options={"wrong": "none"})
    table = Table(stepped(socket, lanes, [0]))
    assert (table.rewards[0], table.flags[0] & REWARD_MISSING) == (0.0, REWARD_MISSING)


def test_columns_hold_what_the_model_writes(execution: str) -> None:
    app = "tests.support.apps.walk_values:doubled_app"
    with running_server(app, env={"TEST_EXECUTION": execution}) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        found: dict[int, list[float]] = {}
        for part in stepped(socket, lanes, [3, 4]):  # the lanes have threads of their own, and answer as they come
            assert part.observations is not None
            assert part.observations.columns is not None
            (column,) = part.observations.columns
            found |= zip(part.lanes, np.frombuffer(column, "<f4").reshape(-1, 2).tolist(), strict=True)
        assert found == {lanes[0]: [6.0, 2.0], lanes[1]: [8.0, 2.0]}
        assert server_faults(server) == []
