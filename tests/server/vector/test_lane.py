from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import ArrayData
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    TERMINATED,
    TRUNCATED,
    Batch,
    Opened,
    Rows,
    Values,
)

from tests.support.apps.lanes import ODD_VALUES
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import frame_socket
from tests.support.vector_client import Table, VectorSocket, server_faults, vector_socket
from tests.support.walks import SPACES, GymnasiumWalk, layout

LANES = 5
MODES = ["NextStep", "SameStep", "Disabled"]


@pytest.fixture(scope="module", params=["thread", "inline", "async"])
def execution(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(execution: str) -> Iterator[RunningServer]:
    with running_server("tests.support.apps.lanes:app", env={"TEST_EXECUTION": execution}) as server:
        yield server
        assert server_faults(server) == []


@pytest.fixture(scope="module")
def walks(execution: str) -> Iterator[RunningServer]:
    with running_server("tests.support.apps.walks:app", env={"TEST_EXECUTION": execution}) as server:
        yield server
        assert server_faults(server) == []


@pytest.fixture
def lanes(socket: VectorSocket) -> list[int]:
    lanes = socket.open(3, render_mode="rgb_array")
    socket.reset(lanes)
    return lanes


class Walker:
    """Steps walks over the wire in columns; every answer as Gymnasium's vector environments give it."""

    def __init__(self, socket: VectorSocket, mode: str, **keys: Any) -> None:
        self._socket = socket
        opened = socket.ask(frames.Open, lanes=LANES, autoreset=mode, **keys)
        assert isinstance(opened, Opened)
        assert (opened.action_columns, opened.observation_columns) == (True, True)
        assert opened.observation_space == SPACES["observation"]
        self.lanes = opened.lanes

    def reset(self, lanes: Sequence[int] | None = None, **keys: Any) -> list[Rows]:
        return self._socket.parts(self._socket.send(frames.Reset, lanes=list(lanes or self.lanes), **keys))

    def step(self, actions: Any, **keys: Any) -> list[Rows]:
        columns = layout("action").pack_batch(np.asarray(actions, np.int64), LANES)
        batch = Batch(columns=columns)
        return self._socket.parts(self._socket.send(frames.Step, lanes=self.lanes, actions=batch, **keys))


def batch(parts: Sequence[Rows], *, final: bool = False) -> dict[int, list[Any]]:
    """The observation of each lane, as the arrays of its leaves."""
    found: dict[int, list[Any]] = {}
    for part in parts:
        lanes = part.lanes
        observations = part.observations
        if final:
            if part.final is None:
                continue
            lanes = [part.lanes[row] for row in part.final.rows]
            observations = part.final.observations
        if observations is None:
            continue
        assert observations.columns is not None
        leaves = layout("observation").arrays(observations.columns, len(lanes), np)
        found |= {lane: [leaf[row] for leaf in leaves] for row, lane in enumerate(lanes)}
    return found


def expected(observations: Any, lane: int) -> list[Any]:
    return [leaf[lane] for leaf in layout("observation").take_apart(observations)]


def same(ours: list[Any], theirs: list[Any]) -> bool:
    return all(np.array_equal(a, b) and a.dtype == np.asarray(b).dtype for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [None, 4])
def test_trajectories_are_those_of_gymnasium_lane_by_lane(walks: RunningServer, mode: str, limit: int | None) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        env: gymnasium.Env[Any, Any] = GymnasiumWalk()
        return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)

    theirs = SyncVectorEnv([make] * LANES, autoreset_mode=AutoresetMode(mode))
    actions = np.random.default_rng(5).integers(-1, 2, (60, LANES))
    seeds: list[int | None] = [11, 12, 13, 14, 15]
    with vector_socket(walks.ws_url) as socket:
        walker = Walker(socket, mode, max_episode_steps=limit)
        ours = batch(walker.reset(seeds=seeds))
        observations, _ = theirs.reset(seed=seeds)
        assert all(same(ours[lane], expected(observations, lane)) for lane in range(LANES))
        for row in actions:
            parts = walker.step(row)
            observations, rewards, terminations, truncations, infos = theirs.step(row)
            table = Table(parts)
            ours = batch(parts)
            for lane in range(LANES):
                assert same(ours[lane], expected(observations, lane))
                assert table.rewards[lane] == rewards[lane]
                assert bool(table.flags[lane] & TERMINATED) == terminations[lane]
                assert bool(table.flags[lane] & TRUNCATED) == truncations[lane]
                assert table.infos[lane]["steps"] == infos["steps"][lane]
                assert table.flags[lane] & SEED_APPLIED
            if mode == "SameStep" and "final_obs" in infos:
                finals = batch(parts, final=True)
                ended = np.flatnonzero(infos["_final_obs"])
                assert set(finals) == set(ended.tolist())
                for lane in ended.tolist():
                    value = infos["final_obs"][lane]
                    assert same(finals[lane], layout("observation").take_apart(value))
                    assert table.final_infos[lane]["steps"] == infos["final_info"]["steps"][lane]
            over = terminations | truncations
            if mode == "Disabled" and over.any():
                again = batch(walker.reset(np.flatnonzero(over).tolist()))
                observations, _ = theirs.reset(options={"reset_mask": over})
                assert all(same(again[lane], expected(observations, lane)) for lane in again)


def test_a_disabled_lane_that_is_over_refuses_to_step_and_the_others_go_on(socket: VectorSocket) -> None:
    lanes = socket.open(2, autoreset="Disabled")
    socket.reset(lanes)
    socket.step(lanes, [{"do": "done"}, {}])
    table = socket.step(lanes, [{}, {}])
    assert (table.failures[0].kind, table.failures[0].lost) == ("EpisodeOver", False)
    assert table.values[1]["count"] == 2
    socket.reset(lanes[:1])
    assert not socket.step(lanes, [{}, {}]).failures


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_step_before_the_first_reset_is_refused(socket: VectorSocket, mode: str) -> None:
    lanes = socket.open(2, autoreset=mode)
    socket.reset(lanes[:1])
    table = socket.step(lanes, [{}, {}])
    assert table.values[lanes[0]]["count"] == 1
    assert (table.failures[lanes[1]].kind, table.failures[lanes[1]].lost) == ("EpisodeOver", False)
    socket.reset(lanes[1:])
    assert socket.step(lanes, [{}, {}]).values[lanes[1]]["count"] == 1


def test_next_seeds_seed_the_resets_that_a_lane_makes_by_itself(socket: VectorSocket) -> None:
    one, two = socket.open(1), socket.open(1, autoreset="SameStep")
    socket.reset([*one, *two], seeds=[1, 2])
    first = socket.step([*one, *two], [{"do": "done", "number": 3}] * 2, next_seeds=[70, 80])
    assert [first.values[lane]["seed"] for lane in (0, 1)] == [1, 80]
    assert first.finals[1]["seed"] == 2
    assert (first.rewards[1], first.flags[1]) == (3.0, TERMINATED | SEED_APPLIED)
    second = socket.step([*one, *two], [{"do": "raise"}, {}], next_seeds=[71, 81])
    assert (second.values[0]["seed"], second.rewards[0]) == (71, 0.0)
    assert second.flags[0] == RESET_ROW | SEED_APPLIED
    third = socket.step(one, [{"do": "truncate"}])
    assert third.flags[0] == TRUNCATED | SEED_APPLIED
    unseeded = socket.step(one, [{}])
    assert unseeded.flags[0] == RESET_ROW


def test_reset_options_of_open_go_with_every_reset_and_give_way_once(socket: VectorSocket) -> None:
    lanes = socket.open(1, options={"start": 5})
    assert socket.reset(lanes).values[0]["count"] == 5
    assert socket.reset(lanes, options={"start": 7}).values[0]["count"] == 7
    socket.step(lanes, [{"do": "done"}])
    assert socket.step(lanes, [{}]).values[0]["count"] == 5


def test_unknown_reset_options_are_refused_naming_the_nearest(socket: VectorSocket, lanes: list[int]) -> None:
    for failure in (
        socket.refusal(frames.Open, lanes=1, options={"strat": 1}),
        socket.refusal(frames.Reset, lanes=lanes, options={"strat": 1}),
    ):
        assert (failure.failure, failure.kind) == ("validation", "UnknownOption")
        assert "'start'" in failure.message


def test_a_wrong_value_of_an_option_fails_the_lane_and_does_nothing(socket: VectorSocket, lanes: list[int]) -> None:
    table = socket.reset(lanes[:1], options={"start": "far"})
    assert (table.failures[0].kind, table.failures[0].lost) == ("InvalidMessage", False)
    assert table.failures[0].details["errors"][0]["loc"] == ["start"]


@pytest.mark.parametrize(
    ("action", "failure", "kind"),
    [
        ({"do": "raise"}, "environment", "ExecutionError"),
        ({"do": "exit"}, "environment", "ExecutionError"),
        ({"do": "nan reward"}, "environment", "ExecutionError"),
        ({"do": "huge reward"}, "environment", "ExecutionError"),
        ({"do": "garbage"}, "environment", "ExecutionError"),
        ({"do": "object"}, "environment", "ExecutionError"),
        ({"do": "huge integer"}, "environment", "ExecutionError"),
        ({"do": "deep", "number": 100}, "environment", "ExecutionError"),
        ({"do": "deep", "number": 5000}, "environment", "ExecutionError"),
        ({"seconds": "soon"}, "validation", "InvalidMessage"),
        ({"unknown": 1}, "validation", "InvalidMessage"),
        ("left", "validation", "InvalidAction"),
        ([1], "validation", "InvalidAction"),
        (None, "validation", "InvalidAction"),
    ],
)
def test_a_failing_lane_is_a_failure_of_that_lane_only(
    socket: VectorSocket, lanes: list[int], action: Any, failure: str, kind: str
) -> None:
    table = socket.step(lanes, [{}, action, {}])
    assert {lane: (told.failure, told.kind, told.lost) for lane, told in table.failures.items()} == {
        1: (failure, kind, False)
    }
    assert set(table.values) == {0, 2}
    assert not socket.step(lanes, [{}] * 3).failures


def test_a_failed_reset_leaves_the_lane_where_it_was(socket: VectorSocket, lanes: list[int]) -> None:
    socket.step(lanes, [{}] * 3)
    failure = socket.reset(lanes[:1], options={"fail": True}).failures[0]
    assert (failure.kind, failure.lost) == ("ExecutionError", False)
    assert socket.step(lanes, [{}] * 3).values[0]["count"] == 2


def test_the_end_of_an_episode_stands_though_its_own_reset_failed(socket: VectorSocket) -> None:
    lanes = socket.open(1, autoreset="SameStep", options={"fail": False})
    socket.reset(lanes)
    lanes = socket.open(1, options={"fail": True})
    assert socket.reset(lanes).failures[lanes[0]].kind == "ExecutionError"
    assert not socket.reset(lanes, options={"fail": False}).failures
    socket.step(lanes, [{"do": "done"}])
    assert socket.step(lanes, [{}]).failures[lanes[0]].kind == "ExecutionError"
    assert socket.step(lanes, [{}]).failures[lanes[0]].kind == "ExecutionError"


def test_rewards_infos_and_odd_values_travel(socket: VectorSocket, lanes: list[int]) -> None:
    table = socket.step(lanes, [{"do": "no reward"}, {"do": "metadata"}, {"do": "array"}])
    assert (table.rewards[0], table.flags[0]) == (0.0, REWARD_MISSING)
    array = table.infos[1]["level"]["array"]
    assert table.infos[1]["level"]["name"] == "é"
    assert (array.dtype, list(array.shape)) == ("int16", [3])
    assert table.infos[0] == {}
    value = table.values[2]["value"]
    assert isinstance(value, ArrayData)
    assert np.frombuffer(value.data, "<f4").reshape(value.shape).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert "metadata" not in table.values[1]


@pytest.mark.parametrize("number", range(len(ODD_VALUES)))
def test_a_value_is_the_same_on_both_wires(server: RunningServer, socket: VectorSocket, number: int) -> None:
    lanes = socket.open(1)
    socket.reset(lanes)
    table = socket.step(lanes, [{"do": "odd", "number": number}])
    assert not table.failures
    with frame_socket(server.ws_url) as standard:
        standard.reset()
        told = standard.step(do="odd", number=number)
    assert table.values[lanes[0]] == {key: item for key, item in told["observation"].items() if key != "metadata"}
    assert table.infos[lanes[0]] == told["metadata"]


def test_a_reward_that_no_float_holds_is_logged_and_its_step_counts(socket: VectorSocket) -> None:
    lanes = socket.open(1, max_episode_steps=2)
    socket.reset(lanes)
    assert "[error " in socket.step(lanes, [{"do": "huge reward"}]).failures[lanes[0]].message
    assert socket.step(lanes, [{}]).flags[lanes[0]] & TRUNCATED
    assert socket.step(lanes, [{}]).flags[lanes[0]] & RESET_ROW
    assert socket.step(lanes, [{"do": "huge done"}]).failures[lanes[0]].kind == "ExecutionError"
    assert socket.step(lanes, [{}]).flags[lanes[0]] & RESET_ROW


def test_an_observation_with_a_lone_surrogate_fails_its_lane_rather_than_arrive_changed(
    socket: VectorSocket, lanes: list[int]
) -> None:
    failure = socket.step(lanes[:1], [{"do": "surrogate"}]).failures[lanes[0]]
    assert (failure.kind, failure.lost) == ("ExecutionError", False)
    assert socket.step(lanes[:1], [{}]).failures == {}


def test_an_observation_that_does_not_fit_its_space_fails_its_lane(walks: RunningServer) -> None:
    with vector_socket(walks.ws_url) as socket:
        walker = Walker(socket, "NextStep")
        walker.reset(seeds=[1] * LANES)
        failures = Table(walker.reset(walker.lanes[:1], options={"misfit": True})).failures
        assert failures[0].kind == "InvalidObservation"
        assert "where" in failures[0].message


def test_an_action_outside_its_space_fails_its_lane(walks: RunningServer) -> None:
    with vector_socket(walks.ws_url) as socket:
        walker = Walker(socket, "NextStep")
        walker.reset(seeds=[1] * LANES)
        table = Table(walker.step([0, 5, 0, 0, -2]))
        assert {lane: told.kind for lane, told in table.failures.items()} == {1: "InvalidAction", 4: "InvalidAction"}
        assert set(table.flags) == {0, 2, 3}


def test_actions_in_another_form_than_agreed_are_refused(walks: RunningServer, socket: VectorSocket) -> None:
    lanes = socket.open(1)
    wrong = Batch(columns=[b"12345678"])
    assert socket.refusal(frames.Step, lanes=lanes, actions=wrong).failure == "protocol"
    with vector_socket(walks.ws_url) as other:
        lanes = other.open(1)
        assert other.refusal(frames.Step, lanes=lanes, actions=Batch(values=[{"move": 1}])).failure == "protocol"
        assert other.refusal(frames.Step, lanes=lanes, actions=Batch(columns=[b"123"])).failure == "protocol"


def test_state_render_call_get_and_set(socket: VectorSocket, lanes: list[int]) -> None:
    socket.step(lanes[1:2], [{}])

    def values(kind: Any, **keys: Any) -> dict[int, Any]:
        reply = socket.ask(kind, lanes=lanes, **keys)
        assert isinstance(reply, Values)
        assert not reply.failures
        return dict(zip(reply.lanes, reply.values, strict=True))

    assert [state["step_count"] for _, state in sorted(values(frames.State).items())] == [0, 1, 0]
    picture = values(frames.Render)[1]
    assert (picture.dtype, tuple(picture.shape), picture.data) == ("uint8", (2, 3, 3), bytes([1]) * 18)
    assert values(frames.Call, name="add", args=[4], kwargs={"twice": True}) == {0: 8, 1: 9, 2: 8}
    assert values(frames.Set, name="label", values=["a", "b", ["c"]]) == {0: None, 1: None, 2: None}
    assert values(frames.Get, name="label") == {0: "a", 1: "b", 2: ["c"]}
    assert values(frames.Call, name="label") == {0: "a", 1: "b", 2: ["c"]}
    text = socket.open(1, render_mode="ansi")
    assert socket.ask(frames.Render, lanes=text).values == ["count 0"]


def test_what_fails_in_a_call_fails_its_lane(socket: VectorSocket, lanes: list[int]) -> None:
    reply = socket.ask(frames.Call, lanes=lanes, name="add", args=["x"])
    assert {failure.kind for failure in reply.failures} == {"ExecutionError"}
    assert len(reply.failures) == 3
    assert not socket.step(lanes, [{}] * 3).failures


@pytest.mark.parametrize("name", ["_state", "step", "reset", "__class__", "nothing", "", "state"])
def test_a_name_that_is_not_allowed_is_refused(socket: VectorSocket, lanes: list[int], name: str) -> None:
    assert socket.refusal(frames.Get, lanes=lanes, name=name).kind == "UnknownOption"
    assert socket.refusal(frames.Call, lanes=lanes, name=name).kind == "UnknownOption"
    assert socket.refusal(frames.Set, lanes=lanes, name=name, values=[1, 2, 3]).kind == "UnknownOption"


def test_a_name_that_can_only_be_read_is_not_set(socket: VectorSocket, lanes: list[int]) -> None:
    failure = socket.refusal(frames.Set, lanes=lanes, name="hanging", values=[1, 2, 3])
    assert failure.kind == "UnknownOption"
    assert "label" in failure.message
    assert socket.ask(frames.Get, lanes=lanes, name="hanging").values == [0, 0, 0]


def test_what_open_cannot_give_is_refused_and_what_there_is_is_named(socket: VectorSocket) -> None:
    assert "ansi" in socket.refusal(frames.Open, lanes=1, render_mode="human").message
    assert "NextStep" in socket.refusal(frames.Open, lanes=1, autoreset="Never").message
    assert socket.refusal(frames.Open, lanes=1, max_episode_steps=0).failure == "validation"
    lanes = socket.open(1)
    assert socket.refusal(frames.Render, lanes=lanes).failure == "validation"
