from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.columns import Layout, layout_of
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    SEED_APPLIED,
    TERMINATED,
    TRUNCATED,
    Batch,
    Done,
    Opened,
    Rows,
)

from tests.support.apps.pushes import (
    BEFORE,
    BEHIND,
    END,
    NO_REWARD,
    NO_ROW,
    NUMBER_KEY,
    REWARD,
    RUNNING,
    SHORT,
    SILENT,
    STEP,
    TWICE,
    UNSEEDED,
    ApartPushes,
)
from tests.support.servers import RunningServer, running_server
from tests.support.sessions import wait_for_sessions
from tests.support.sockets import frame_socket
from tests.support.vector_client import Table, VectorSocket, vector_socket
from tests.support.walks import SPACES, GymnasiumWalk

assert ApartPushes.spaces is not None
PUSHES = ApartPushes.spaces
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

    wait_for_sessions(cart_poles)
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

    wait_for_sessions(walks)
    with vector_socket(walks.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        assert isinstance(socket.ask(frames.Close, lanes=lanes[:1]), Done)
        assert active() == 2
        assert Table(reset(socket, lanes)).failures[lanes[0]].kind == "SessionLost"
        assert isinstance(socket.ask(frames.Close, lanes=lanes), Done)
        assert active() == 0


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
    assert table.flags == {lanes[0]: SEED_APPLIED, lanes[1]: 0}
    stepped = Table(step(socket, lanes, [0, 0]))
    assert stepped.infos == {lane: {"steps": 1} for lane in lanes}
    assert stepped.flags == {lanes[0]: SEED_APPLIED, lanes[1]: 0}
    while not all(flags & RESET_ROW for flags in stepped.flags.values()):
        stepped = Table(step(socket, lanes, [1, -1]))
        assert not stepped.failures
    # The walks go on in the random stream of the seeded reset.
    assert stepped.flags == {lanes[0]: SEED_APPLIED | RESET_ROW, lanes[1]: RESET_ROW}


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


@pytest.fixture(scope="module")
def pushes() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.pushes:pushes") as server:
        yield server


def places(parts: Sequence[Rows], *, final: bool = False) -> list[float]:
    space = PUSHES["observation"]
    return [float(place) for place in leaves(parts, space, final=final)[0]]


def test_episodes_that_lanes_begin_by_themselves_depend_on_no_seed_where_none_is_taken(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        assert Table(reset(socket, lanes, seeds=[3, 4])).flags == {0: SEED_APPLIED, 1: SEED_APPLIED}
        ended = Table(step(socket, lanes, [END, STEP], next_seeds=[5, 6]))
        assert ended.flags == {0: TERMINATED | SEED_APPLIED, 1: SEED_APPLIED}
        begun = step(socket, lanes, [STEP, STEP], next_seeds=[7, 8])
        assert places(begun) == [UNSEEDED, 4.0]
        assert Table(begun).flags == {0: RESET_ROW, 1: SEED_APPLIED}
        lanes = socket.open(2, autoreset="SameStep")
        reset(socket, lanes, seeds=[3, 4])
        begun = step(socket, lanes, [STEP, END], next_seeds=[7, 8])
        assert (places(begun), places(begun, final=True)) == ([3.0, UNSEEDED], [4.0])
        assert Table(begun).flags == {lanes[0]: SEED_APPLIED, lanes[1]: TERMINATED}


def test_next_seeds_reach_an_environment_that_takes_them() -> None:
    with running_server("tests.support.apps.pushes:seeded") as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(3)
        reset(socket, lanes, seeds=[3, 4, 5])
        step(socket, lanes, [END, END, STEP])
        begun = step(socket, lanes, [STEP] * 3, next_seeds=[7, None, 9])
        assert places(begun) == [7.0, UNSEEDED, 5.0]
        assert Table(begun).flags == {0: RESET_ROW | SEED_APPLIED, 1: RESET_ROW, 2: SEED_APPLIED}
        assert places(step(socket, lanes[::-1], [STEP] * 3, next_seeds=[1, 2, 3])) == [7.0, UNSEEDED, 5.0]


@pytest.mark.parametrize("wrong", [TWICE, BEFORE, BEHIND, NO_ROW, NO_REWARD, RUNNING, SHORT])
def test_arrays_that_are_wrong_fail_the_lanes_of_that_environment_only(pushes: RunningServer, wrong: int) -> None:
    with vector_socket(pushes.ws_url) as socket:
        one, two = socket.open(2, autoreset="SameStep"), socket.open(2, autoreset="SameStep")
        reset(socket, [*one, *two], seeds=SEEDS)
        table = Table(step(socket, [*one, *two], [wrong, STEP, STEP, STEP]))
        assert {lane: told.kind for lane, told in table.failures.items()} == dict.fromkeys(one, "ExecutionError")
        assert all("[error " in told.message and not told.lost for told in table.failures.values())
        assert set(table.flags) == set(two)
        assert not Table(step(socket, [*one, *two], [STEP] * 4)).failures


def test_a_reward_of_a_reset_fails_its_lanes(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        step(socket, lanes, [STEP, END])
        failures = Table(step(socket, lanes, [REWARD, STEP])).failures
        assert {told.kind for told in failures.values()} == {"ExecutionError"}
        assert "0.0" in failures[lanes[1]].message
        assert not Table(step(socket, lanes, [STEP, STEP])).failures


def test_an_array_of_another_length_is_named(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        for wrong, name in ((SHORT, "truncated of shape (1,) where (2,)"), (NO_REWARD, "rewards")):
            told = Table(step(socket, lanes, [wrong, STEP])).failures[lanes[0]]
            assert (told.kind, name in told.message) == ("ExecutionError", True), told.message


def test_resets_that_are_not_told_are_noticed(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        step(socket, lanes, [STEP, END])
        failures = Table(step(socket, lanes, [SILENT, STEP])).failures
        assert {told.kind for told in failures.values()} == {"ExecutionError"}
        assert "reset_rows" in failures[lanes[0]].message
        assert not Table(step(socket, lanes, [SILENT, STEP])).failures


def test_a_step_before_the_first_reset_reaches_no_environment(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        failures = Table(step(socket, lanes, [STEP, 99])).failures
        assert {lane: told.kind for lane, told in failures.items()} == dict.fromkeys(lanes, "EpisodeOver")
        assert socket.ask(frames.Get, lanes=lanes, name="steps").values == [0, 0]
    with running_server("tests.support.apps.pushes:apart") as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes[:1])
        table = Table(step(socket, lanes, [STEP, STEP]))
        assert ([*table.flags], [*table.failures]) == ([lanes[0]], [lanes[1]])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_state_of_each_lane_has_its_own_steps(pushes: RunningServer, mode: str) -> None:
    with vector_socket(pushes.ws_url) as socket:

        def counts() -> list[int]:
            states = socket.ask(frames.State, lanes=lanes[::-1])
            assert states.lanes == lanes
            return [state["step_count"] for state in states.values]

        lanes = socket.open(2, autoreset=mode)
        reset(socket, lanes)
        assert counts() == [0, 0]
        step(socket, lanes, [STEP, STEP])
        step(socket, lanes, [STEP, END])
        assert counts() == ([2, 2] if mode == "NextStep" else [2, 0])
        step(socket, lanes, [STEP, STEP])
        assert counts() == ([3, 0] if mode == "NextStep" else [3, 1])
        reset(socket, lanes)
        assert counts() == [0, 0]


def test_keys_of_infos_that_are_no_text_become_text(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(2)
        reset(socket, lanes, seeds=[1, 2])
        assert Table(step(socket, lanes, [NUMBER_KEY, STEP])).infos == {0: {"5": "five"}, 1: {}}


def test_an_action_outside_its_space_reaches_no_environment(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(3)
        reset(socket, lanes, seeds=[1, 2, 3])
        table = Table(step(socket, lanes, [STEP, 99, -1]))
        assert {lane: told.kind for lane, told in table.failures.items()} == dict.fromkeys(lanes, "InvalidAction")
        assert "no step was taken" in table.failures[0].message
        assert "outside its space." in table.failures[1].message
        assert socket.ask(frames.Get, lanes=lanes, name="steps").values == [0, 0, 0]
        step(socket, lanes, [END, STEP, STEP])
        # The first lane resets, and its action is not heeded.
        assert Table(step(socket, lanes, [99, STEP, STEP])).flags[0] & RESET_ROW


def test_an_action_outside_its_space_fails_its_lane_only_where_lanes_are_stepped_apart() -> None:
    with running_server("tests.support.apps.pushes:apart") as server, vector_socket(server.ws_url) as socket:
        opened = socket.ask(frames.Open, lanes=3)
        assert (opened.partial_steps, opened.partial_resets) == (True, True)
        reset(socket, opened.lanes, seeds=[1, 2, 3])
        parts = step(socket, opened.lanes, [STEP, 99, END])
        table = Table(parts)
        assert {lane: told.kind for lane, told in table.failures.items()} == {1: "InvalidAction"}
        assert table.flags == {0: SEED_APPLIED, 2: TERMINATED | SEED_APPLIED}
        assert places(parts) == [1.0, 3.0]


def test_an_action_outside_its_space_is_a_validation_error_on_the_standard_wire(pushes: RunningServer) -> None:
    with frame_socket(pushes.ws_url) as socket:
        socket.reset(seed=4)
        told = socket.ask({"type": "step", "data": {"push": 99}})
        assert (told["type"], told["data"]["code"]) == ("error", "VALIDATION_ERROR")
        assert "The action does not fit" in told["data"]["message"]
        assert socket.step(push=STEP)["reward"] == 1.0


def test_attributes_are_never_divided_among_lanes_and_what_calls_return_is(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url) as socket:
        lanes = socket.open(3)
        assert socket.ask(frames.Get, lanes=lanes, name="goal").values == [[0, 1, 2]] * 3
        assert socket.ask(frames.Call, lanes=lanes, name="goal").values == [[0, 1, 2]] * 3
        assert socket.ask(frames.Call, lanes=lanes, name="goal_of_all").values == [0, 10, 20]


def test_rows_of_many_lanes_beyond_the_client_limit_come_in_several_frames(pushes: RunningServer) -> None:
    with vector_socket(pushes.ws_url, greet=False) as socket:
        socket.hello(max_frame_bytes=11_000)
        lanes = socket.open(400, autoreset="SameStep")
        reset(socket, lanes, seeds=lanes)
        parts = step(socket, lanes, [END, NUMBER_KEY] * 200)
        assert len(parts) > 1
        assert all(len(codec.encode(part)) <= 11_000 for part in parts)
        table = Table(parts)
        assert not table.failures
        assert table.infos == {lane: {"5": "five"} if lane % 2 else {} for lane in lanes}
        begun = [place for part in parts for place in places([part])]
        assert begun == [lane if lane % 2 else UNSEEDED for lane in lanes]
        finals: dict[int, float] = {}
        for part in parts:
            assert part.final is not None
            ended = [part.lanes[row] for row in part.final.rows]
            finals |= dict(zip(ended, places([part], final=True), strict=True))
        assert finals == {lane: lane for lane in lanes[::2]}


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
