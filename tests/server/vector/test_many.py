from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.columns import Layout, layout_of
from openenv_gym_protocol.vector.frames import RESET_ROW, SEED_UNKNOWN, TERMINATED, TRUNCATED, Batch, Done, Opened, Rows

from tests.support.servers import RunningServer, running_server
from tests.support.sockets import frame_socket
from tests.support.vector_client import Table, VectorSocket, vector_socket
from tests.support.walks import SPACES, GymnasiumWalk

SEEDS: list[int | None] = [3, 1, 4, 1]


@pytest.fixture(scope="module", params=["thread", "inline"])
def cart_poles(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    environ = {"TEST_EXECUTION": str(request.param), "MAX_CONCURRENT_ENVS": "16", "OPENENV_GYM_CAPACITY_WAIT": "0.1"}
    with running_server("tests.support.apps.vectors:cart_poles", env=environ) as server:
        yield server


@pytest.fixture(scope="module")
def walks() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.vectors:walks") as server:
        yield server


@pytest.fixture
def socket(walks: RunningServer) -> Iterator[VectorSocket]:
    with vector_socket(walks.ws_url) as socket:
        yield socket


def layout(space: dict[str, Any]) -> Layout:
    found = layout_of(space)
    assert found is not None
    return found


def reset(socket: VectorSocket, lanes: Sequence[int], **keys: Any) -> list[Rows]:
    return socket.parts(socket.send(frames.Reset, lanes=list(lanes), **keys))


def step(socket: VectorSocket, lanes: Sequence[int], actions: Any, **keys: Any) -> list[Rows]:
    batch = Batch(columns=[np.asarray(actions, "<i8").tobytes()])
    return socket.parts(socket.send(frames.Step, lanes=list(lanes), actions=batch, **keys))


def leaves(parts: Sequence[Rows], space: dict[str, Any], *, final: bool = False) -> list[Any]:
    (part,) = parts
    batch = part.final.observations if final and part.final else part.observations
    assert batch is not None
    assert batch.columns is not None
    rows = len(part.final.rows) if final and part.final else len(part.lanes)
    return layout(space).arrays(batch.columns, rows, np)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_cart_poles_are_those_of_gymnasium_in_one_frame_a_step(cart_poles: RunningServer, mode: str) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make("CartPole-v1", max_episode_steps=20)

    theirs = SyncVectorEnv([make] * 4, autoreset_mode=AutoresetMode(mode))
    actions = np.random.default_rng(2).integers(0, 2, (80, 4))
    with vector_socket(cart_poles.ws_url) as socket:
        opened = socket.ask(frames.Open, lanes=4, autoreset=mode, max_episode_steps=20)
        assert isinstance(opened, Opened)
        assert (opened.partial_steps, opened.autoreset_modes) == (False, ["NextStep", "SameStep"])
        assert opened.observation_space is not None
        space = opened.observation_space
        (observations,) = leaves(reset(socket, opened.lanes, seeds=SEEDS), space)
        assert np.array_equal(observations, theirs.reset(seed=SEEDS)[0])
        over = np.zeros(4, bool)
        for row in actions:
            parts = step(socket, opened.lanes, row)
            expected, rewards, terminations, truncations, infos = theirs.step(row)
            assert np.array_equal(leaves(parts, space)[0], expected)
            flags = np.frombuffer(parts[0].flags, np.uint8)
            assert np.array_equal(np.frombuffer(parts[0].rewards, "<f8"), rewards)
            assert np.array_equal((flags & TERMINATED) > 0, terminations)
            assert np.array_equal((flags & TRUNCATED) > 0, truncations)
            assert np.array_equal((flags & RESET_ROW) > 0, over if mode == "NextStep" else np.zeros(4, bool))
            if "final_obs" in infos:
                finals = leaves(parts, space, final=True)[0]
                assert np.array_equal(finals, np.stack(infos["final_obs"][infos["_final_obs"]]))
            over = terminations | truncations


def test_lanes_are_counted_in_the_capacity_and_given_back(cart_poles: RunningServer) -> None:
    def active() -> int:
        body = httpx.get(f"{cart_poles.base_url}/ready", trust_env=False, timeout=20).json()
        return int(body["active_sessions"])

    with vector_socket(cart_poles.ws_url) as socket:
        lanes = socket.open(10)
        assert active() == 10
        assert socket.refusal(frames.Open, lanes=7).kind == "CapacityReached"
        more = socket.open(6)
        assert isinstance(socket.ask(frames.Close, lanes=lanes), Done)
        assert active() == 6
        assert more == list(range(10, 16))


def test_what_it_cannot_do_is_refused_with_what_it_can(cart_poles: RunningServer) -> None:
    with vector_socket(cart_poles.ws_url) as socket:
        assert "SameStep" in socket.refusal(frames.Open, lanes=2, autoreset="Disabled").message
        lanes = socket.open(3)
        reset(socket, lanes, seeds=[1, 2, 3])
        actions = Batch(columns=[bytes(16)])
        assert socket.refusal(frames.Step, lanes=lanes[:2], actions=actions).failure == "validation"
        assert socket.refusal(frames.Reset, lanes=lanes[:2]).failure == "validation"
        assert len(step(socket, lanes, [0, 1, 0])[0].lanes) == 3


def test_lanes_closed_one_by_one_end_the_environment_with_the_last(walks: RunningServer) -> None:
    def active() -> int:
        return int(httpx.get(f"{walks.base_url}/ready", trust_env=False, timeout=20).json()["active_sessions"])

    with vector_socket(walks.ws_url) as socket:
        before = active()
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        assert isinstance(socket.ask(frames.Close, lanes=lanes[:1]), Done)
        assert active() == before + 2
        assert Table(reset(socket, lanes)).failures[lanes[0]].kind == "SessionLost"
        assert isinstance(socket.ask(frames.Close, lanes=lanes), Done)
        assert active() == before


def test_a_time_limit_that_the_environment_does_not_keep_is_refused(socket: VectorSocket) -> None:
    assert socket.refusal(frames.Open, lanes=2, max_episode_steps=5).failure == "validation"


def test_lanes_in_another_order_get_their_own_actions(socket: VectorSocket) -> None:
    one, two = socket.open(3), socket.open(3)
    for lanes in (one, two):
        reset(socket, lanes, seeds=[5, 6, 7])
    straight = Table(step(socket, one, [-1, 0, 1]))
    turned = Table(step(socket, two[::-1], [1, 0, -1]))
    assert [straight.rewards[lane] for lane in one] == [turned.rewards[lane] for lane in two]


def test_several_groups_are_stepped_in_one_request(socket: VectorSocket) -> None:
    one, two = socket.open(2), socket.open(2)
    both = [one[0], two[0], one[1], two[1]]
    reset(socket, both, seeds=[5, 5, 6, 6])
    table = Table(step(socket, both, [-1, -1, 1, 1]))
    assert table.rewards[one[0]] == table.rewards[two[0]]
    assert table.rewards[one[1]] == table.rewards[two[1]]


def test_some_lanes_are_reset_where_the_environment_can(socket: VectorSocket) -> None:
    theirs = SyncVectorEnv([GymnasiumWalk] * 4, autoreset_mode=AutoresetMode.DISABLED)
    lanes = socket.open(4, autoreset="Disabled")
    reset(socket, lanes, seeds=SEEDS)
    theirs.reset(seed=SEEDS)
    step(socket, lanes, [0, 1, -1, 0])
    theirs.step(np.array([0, 1, -1, 0]))
    ours = leaves(reset(socket, [lanes[3], lanes[1]], seeds=[9, 8]), SPACES["observation"])
    mask = np.array([False, True, False, True])
    observations, _ = theirs.reset(seed=[None, 8, None, 9], options={"reset_mask": mask})
    expected = layout(SPACES["observation"]).take_apart(observations)
    assert all(np.array_equal(mine, wanted[[1, 3]]) for mine, wanted in zip(ours, expected, strict=True))


def test_infos_and_what_is_known_of_seeds_come_with_each_row(socket: VectorSocket) -> None:
    lanes = socket.open(2)
    table = Table(reset(socket, lanes, seeds=[1, None]))
    assert table.infos == {lane: {"steps": 0} for lane in lanes}
    assert table.flags[lanes[0]] & ~SEED_UNKNOWN != table.flags[lanes[1]]
    assert Table(step(socket, lanes, [0, 0])).infos == {lane: {"steps": 1} for lane in lanes}


def test_a_reward_that_is_no_number_fails_its_lane_only(socket: VectorSocket) -> None:
    lanes = socket.open(4)
    reset(socket, lanes, seeds=SEEDS)
    table = Table(step(socket, lanes, [1, 1, 0, 0]))
    assert {lane: told.kind for lane, told in table.failures.items()} == {lanes[1]: "ExecutionError"}
    assert set(table.flags) == {lanes[0], lanes[2], lanes[3]}


def test_the_last_observations_of_the_others_come_though_a_reward_is_no_number(socket: VectorSocket) -> None:
    lanes = socket.open(4, autoreset="SameStep")
    reset(socket, lanes, seeds=SEEDS)
    for _ in range(2):
        assert not step(socket, lanes, [1, 1, 0, -1])[0].final
    parts = step(socket, lanes, [1, 1, 0, -1])
    assert set(Table(parts).failures) == {lanes[1]}
    assert parts[0].final is not None
    assert [parts[0].lanes[row] for row in parts[0].final.rows] == [lanes[0], lanes[3]]
    assert leaves(parts, SPACES["observation"], final=True)[0][:, 0].tolist() == [3, -3]
    assert leaves(parts, SPACES["observation"])[0][:, 0].tolist() == [0, 0, 0]


def test_an_exception_fails_the_lanes_of_that_environment_only(socket: VectorSocket) -> None:
    one, two = socket.open(2), socket.open(2)
    reset(socket, [*one, *two], seeds=SEEDS)
    table = Table(step(socket, [*one, *two], [1, 1, 0, 0]))
    assert {told.kind for told in table.failures.values()} == {"ExecutionError"}
    assert set(table.failures) == set(one)
    assert set(table.flags) == set(two)
    assert not Table(step(socket, [*one, *two], [0, 0, 0, 0])).failures


def test_pictures_and_attributes_of_many_lanes(socket: VectorSocket) -> None:
    lanes = socket.open(3, render_mode="ansi")
    assert socket.ask(frames.Render, lanes=[lanes[2], lanes[0]]).values == [f"lane {0}", f"lane {2}"]
    assert socket.ask(frames.Get, lanes=lanes, name="label").values == ["walks"] * 3
    assert socket.refusal(frames.Set, lanes=lanes, name="label", values=["a", "b", "c"]).failure == "validation"


def test_the_standard_wire_has_one_lane_of_it(walks: RunningServer) -> None:
    local = GymnasiumWalk()
    observation, info = local.reset(seed=4)
    with frame_socket(walks.ws_url) as socket:
        told = socket.reset(seed=4)
        assert told["observation"]["where"] == observation["where"].tolist()
        assert told["metadata"] == info
        for move in (0, -1, 0, 0, -1, 0):
            _, reward, terminated, truncated, _ = local.step(move)
            told = socket.step(move=move)
            assert (told["reward"], told["done"]) == (reward, terminated or truncated)
            assert told["metadata"].get("truncated", False) == truncated
        assert socket.ask({"type": "step", "data": {"move": 0}})["type"] == "error"
