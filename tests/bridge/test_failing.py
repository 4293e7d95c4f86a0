"""A lane that fails costs nobody else anything, on either wire and in each execution, and what is reported says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.failing import MOST_IN_A_ROW
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.errors import WaitTimeout
from openenv_gym.providers import pool
from tests.support.executions import ALONE, EXECUTIONS
from tests.support.misbehaving import (
    PROJECT,
    failures_of,
    misbehaving_server,
    orders_in,
    project_settings,
    texts,
    until_all_answer,
)
from tests.support.pools import all_end, process_at
from tests.support.servers import RunningServer, running_server

BLACKJACK = Path(__file__).resolve().parents[2] / "envs" / "blackjack"

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture(scope="module", params=EXECUTIONS)
def execution(request: pytest.FixtureRequest) -> str:
    """Each execution in turn."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def misbehaving(execution: str) -> Iterator[RunningServer]:
    """For what costs other lanes nothing: a hanging lane does not, where each has a thread or awaits."""
    with misbehaving_server(execution) as server:
        yield server


@pytest.fixture
def make(wire: Wire) -> Iterator[Make]:
    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
            env = RemoteVectorEnv(*args, **{"wire": wire, **kwargs})
            stack.callback(env.close)
            return env

        yield make


FAULTS = [
    ("NextStep", "raise", "environment"),
    ("NextStep", "exit", "environment"),
    ("NextStep", "none", "environment"),
    ("NextStep", "dict", "environment"),
    ("NextStep", "object", "environment"),
    ("NextStep", "surrogate", "environment"),
    ("NextStep", "nan_reward", "environment"),
    ("SameStep", "raise", "environment"),
    ("SameStep", "nan_reward", "environment"),
]


@pytest.mark.parametrize(("mode", "command", "failure"), FAULTS)
def test_a_failed_lane_is_truncated_and_goes_on(
    command: str, failure: str, mode: str, misbehaving: RunningServer, make: Make
) -> None:
    check_that_it_is_truncated_and_goes_on(make, misbehaving, mode, command, failure)


@ALONE
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_late_lane_is_truncated_and_goes_on(mode: str, misbehaving: RunningServer, make: Make) -> None:
    check_that_it_is_truncated_and_goes_on(make, misbehaving, mode, "hang", "timeout")


def check_that_it_is_truncated_and_goes_on(
    make: Make, server: RunningServer, mode: str, command: str, failure: str
) -> None:
    timeouts = {"step": 2.0, "reset": 20.0 if mode == "NextStep" else 2.0}
    env = make(server.base_url, num_envs=3, autoreset_mode=mode, on_failure="truncate", timeouts=timeouts)
    env.reset(seed=5)
    env.step(orders_in(env, "answer", "answer", "answer", text="before"))
    sessions = env.get_attr("session_id")
    observation, rewards, terminations, truncations, infos = env.step(
        orders_in(env, "answer", command, "answer", text="now")
    )
    assert rewards.tolist() == [1.0, 0.0, 1.0]
    assert not terminations.any()
    assert truncations.tolist() == [False, True, False]
    told = infos if mode == "NextStep" else infos["final_info"]
    assert told["failure"].tolist() == [None, failure, None]
    assert "lane 1" in told["failure_message"][1]
    if mode == "NextStep":
        assert texts(observation) == ("now", "before", "now"), "the lane's last observation"
        observation, rewards, *_ = env.step(orders_in(env, "answer", "answer", "answer", text="later"))
    else:
        assert infos["final_obs"][1]["text"] == "before"
    assert texts(observation)[1].startswith("seed="), "the lane was reset"
    assert rewards[1] == 0.0
    after = env.step(orders_in(env, "answer", "answer", "answer", text="on"))
    assert texts(after[0]) == ("on", "on", "on")
    assert "failure" not in after[4]
    kept = env.get_attr("session_id")
    assert (kept[0], kept[2]) == (sessions[0], sessions[2]), "nobody else lost anything"
    assert (kept[1] == sessions[1]) is (failure == "environment"), "only a late lane's session is lost"


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_lane_that_fails_again_and_again_is_raised_at_last(mode: str, make: Make) -> None:
    with running_server("tests.support.apps.bridge_counters:app") as server:
        env = make(server.base_url, num_envs=2, on_failure="truncate", autoreset_mode=mode, resets=1)
        env.reset()
        rows = []

        def run() -> None:
            for _ in range(3 + MOST_IN_A_ROW + 1):
                rows.append(env.step([1, 1]))

        with pytest.raises(errors.ExecutionError, match="no more resets") as raised:
            run()
        assert raised.value.lane == 0
        failed = [infos["failure"].tolist() for *_, infos in rows if "failure" in infos]
        assert failed == ([["environment"] * 2] * MOST_IN_A_ROW if mode == "NextStep" else [])


def test_a_reset_that_fails_is_raised_whatever_was_asked_for(misbehaving: RunningServer, make: Make) -> None:
    env = make(misbehaving.base_url, num_envs=2, on_failure="truncate")
    with pytest.raises(errors.ExecutionError, match="reset failed"):
        env.reset(options={"fail": True})
    env.reset()


@ALONE
def test_a_reset_that_is_late_is_raised_and_the_next_one_succeeds(misbehaving: RunningServer, make: Make) -> None:
    env = make(misbehaving.base_url, num_envs=2, on_failure="truncate", timeouts={"reset": 3.0})
    with pytest.raises(errors.ReplyTimeout, match=r"reset\(\) within 3 s"):
        env.reset(options={"hang": True})
    env.reset()
    assert texts(env.step(orders_in(env, "answer", "answer", text="on"))[0]) == ("on", "on")


@ALONE
@pytest.mark.parametrize("wire", ["standard"])
def test_a_late_lane_has_the_time_of_a_step_while_others_reset(misbehaving: RunningServer, make: Make) -> None:
    timeouts = {"step": 3.0, "reset": 120.0}
    env = make(misbehaving.base_url, num_envs=2, on_failure="truncate", timeouts=timeouts)
    env.reset()
    env.step(orders_in(env, "done", "answer"))
    observation, *_, infos = env.step(orders_in(env, "answer", "hang"))
    assert texts(observation)[0].startswith("seed=")
    assert infos["failure"].tolist() == [None, "timeout"]
    assert "within 3 s" in infos["failure_message"][1]


@ALONE
def test_a_late_lane_among_many_costs_nobody_else_anything(misbehaving: RunningServer, make: Make) -> None:
    env = make(misbehaving.base_url, num_envs=128, timeouts={"step": 5.0}, on_failure="truncate")
    env.reset()
    sessions = env.get_attr("session_id")
    commands = ["answer"] * 128
    commands[77] = "hang"
    observation, _, _, truncations, infos = env.step(orders_in(env, *commands, text="one"))
    assert np.flatnonzero(truncations).tolist() == [77]
    assert infos["failure"][77] == "timeout"
    assert sum(text == "one" for text in texts(observation)) == 127
    env.step(orders_in(env, *["answer"] * 128, text="two"))
    observation, *_ = env.step(orders_in(env, *["answer"] * 128, text="three"))
    assert set(texts(observation)) == {"three"}
    changed = [lane for lane in range(128) if env.get_attr("session_id")[lane] != sessions[lane]]
    assert changed == [77]


@ALONE
def test_a_late_lane_keeps_no_other_from_being_received(execution: str, make: Make) -> None:
    with misbehaving_server(execution) as server:  # one of its own, as what hangs is released for ever
        check_that_the_others_are_received(make(server.base_url, num_envs=128))


def check_that_the_others_are_received(env: RemoteVectorEnv) -> None:
    env.reset()
    commands = ["answer"] * 128
    commands[3] = "hang"
    env.send(orders_in(env, *commands))
    received: list[int] = []
    while len(received) < 127:
        received += env.recv(min_lanes=1, timeout=30)[0].tolist()
    assert sorted(received) == [lane for lane in range(128) if lane != 3]
    env.send(orders_in(env, *["answer"] * 127, text="again"), received)
    again: list[int] = []
    while len(again) < 127:
        lanes, observation, *_ = env.recv(min_lanes=1, timeout=30)
        again += lanes.tolist()
        assert set(texts(observation)) == {"again"}
    env.send(orders_in(env, "release"), [0])  # ends what hangs: lane 3's step comes at last, and as lane 3's
    late: dict[int, str] = {}
    while len(late) < 2:
        lanes, observation, *_ = env.recv(min_lanes=1, timeout=30)
        late.update(zip(lanes.tolist(), texts(observation), strict=True))
    assert late == {0: "released the others", 3: "released"}


def test_a_lane_that_fails_while_received_is_named_and_the_others_can_be_taken(
    misbehaving: RunningServer, make: Make
) -> None:
    env = make(misbehaving.base_url, num_envs=3)
    env.reset()
    env.send(orders_in(env, "answer", "raise", "answer"))
    with pytest.raises(errors.ExecutionError) as raised:
        env.recv(min_lanes=3)
    assert raised.value.lane == 1
    assert env.recv(min_lanes=2)[0].tolist() == [0, 2]
    env.send(orders_in(env, "answer", text="on"), [1])
    assert texts(env.recv()[1]) == ("on",), "an exception in the environment leaves its session as it was"


def test_servers_that_run_already_cannot_be_replaced(misbehaving: RunningServer, make: Make) -> None:
    with pytest.raises(errors.ConfigurationError, match="truncate"):
        make(misbehaving.base_url, on_failure="replace")
    with pytest.raises(errors.ConfigurationError, match="on_failure"):
        make(misbehaving.base_url, on_failure="shrug")


def test_a_replaced_lane_goes_on_at_a_new_server(make: Make) -> None:
    env = make(path=BLACKJACK, num_envs=2, on_failure="replace", provider={"linger": 0})
    env.reset(seed=1)
    before = env.servers
    env._lanes.replace(1)
    env._lanes.servers._moves.clear()  # only the session is gone so far
    *_, truncations, infos = env.step(np.zeros(2, np.int64))
    assert bool(truncations[1])
    assert infos["failure"].tolist() == [None, "infrastructure"]
    env.step(np.zeros(2, np.int64))
    assert env.servers[0] == before[0]
    assert env.servers[1] != before[1]
    env.step(np.zeros(2, np.int64))


SHARED = [("vector", "inline", "hang"), ("vector", "async", "block"), ("standard", "async", "block")]
"""What keeps those waiting that share its thread or loop. Inline on the standard wire, that is the whole server."""

BEFORE = ("before", "before", "before")


@pytest.fixture
def fresh(execution: str) -> Iterator[RunningServer]:
    """A server that may be left useless. Its own limit for a step is short."""
    with misbehaving_server(execution, OPENENV_GYM_STEP_TIMEOUT="6") as server:
        yield server


def begun(env: RemoteVectorEnv) -> RemoteVectorEnv:
    """After a reset and a step of all lanes."""
    env.reset(seed=5)
    env.step(orders_in(env, *["answer"] * env.num_envs, text="before"))
    return env


def refuse_unexplained(seen: list[dict[str, str]], expected: str) -> None:
    """Who was answered in time, or not given up yet, may learn only later that it was lost with its thread or loop."""
    messages = {failure: message for lane in seen for failure, message in lane.items() if failure != expected}
    assert messages.keys() <= {"infrastructure"}, messages
    assert all("shared its thread with one that hangs" in message for message in messages.values()), messages


@pytest.mark.parametrize(("wire", "execution", "command"), SHARED, scope="module")
def test_what_waits_for_a_lane_that_hangs_is_late_with_it_and_goes_on(
    fresh: RunningServer, execution: str, command: str, make: Make
) -> None:
    keywords: dict[str, Any] = {"on_failure": "truncate", "timeouts": {"step": 2.4, "reset": 30.0}}
    env, other = (begun(make(fresh.base_url, num_envs=3, **keywords)) for _ in range(2))
    step = env.step(orders_in(env, "answer", command, "answer", text="now"))
    failures = failures_of(step, "now", last=BEFORE)
    assert failures[1] == "timeout"
    assert set(failures) <= {"timeout", None}
    elsewhere = failures_of(other.step(orders_in(other, *["answer"] * 3, text="there")), "there", last=BEFORE)
    if execution == "inline":
        assert failures == ["timeout"] * 3, "one thread of the connection runs them all"
        assert elsewhere == [None] * 3, "another connection has another thread"
    else:
        assert None not in elsewhere, "all async environments of the server share one loop"
    seen = until_all_answer(env, texts(step[0]), within=5)
    refuse_unexplained(seen, "timeout")


@pytest.mark.parametrize(("wire", "execution", "command"), SHARED[:2], scope="module")
@pytest.mark.parametrize("limit", [1.0, 4.0])
def test_a_reset_after_a_late_step_succeeds_though_its_thread_or_loop_hangs(
    limit: float, fresh: RunningServer, command: str, make: Make
) -> None:
    env = begun(make(fresh.base_url, num_envs=3, timeouts={"step": limit, "reset": 60.0}))
    with pytest.raises(errors.ReplyTimeout):
        env.step(orders_in(env, command, "answer", "answer"))
    env.reset(seed=6)
    assert texts(env.step(orders_in(env, *["answer"] * 3, text="on"))[0]) == ("on",) * 3


@pytest.mark.parametrize(("wire", "execution"), [("vector", "inline")], scope="module")
def test_inline_lanes_are_received_when_the_one_among_them_that_hangs_has_ended(
    fresh: RunningServer, make: Make
) -> None:
    env, other = (begun(make(fresh.base_url, num_envs=count)) for count in (8, 1))
    env.send(orders_in(env, *["answer"] * 3, "hang", *["answer"] * 4, text="now"))
    with pytest.raises(WaitTimeout):
        env.recv(min_lanes=1, timeout=0.3)
    other.step(orders_in(other, "release"))
    lanes, observation, rewards, *_ = env.recv(min_lanes=8, timeout=30)
    assert lanes.tolist() == list(range(8))
    assert texts(observation) == ("now",) * 3 + ("released",) + ("now",) * 4
    assert rewards.tolist() == [1.0] * 3 + [0.0] + [1.0] * 4


@pytest.mark.parametrize(("wire", "execution"), [("standard", "inline")], scope="module")
def test_an_inline_lane_that_hangs_on_the_standard_wire_hangs_its_server(fresh: RunningServer, make: Make) -> None:
    timeouts = {"step": 2.0, "connect": 3.0}
    env = begun(make(fresh.base_url, num_envs=3, on_failure="truncate", timeouts=timeouts))
    step = env.step(orders_in(env, "answer", "hang", "answer", text="now"))
    assert failures_of(step, "now", last=BEFORE)[1] == "timeout"
    with pytest.raises(errors.ConnectTimeout) as raised:
        until_all_answer(env, texts(step[0]), within=MOST_IN_A_ROW + 1)
    assert raised.value.server == fresh.base_url
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{fresh.base_url}/health", trust_env=False, timeout=0.3)


def test_a_server_that_dies_takes_its_lanes_along_and_invents_nothing(fresh: RunningServer, make: Make) -> None:
    env = begun(make(fresh.base_url, num_envs=3, on_failure="truncate"))
    step = env.step(orders_in(env, "answer", "die", "answer", text="now"))
    failures = failures_of(step, "now", last=BEFORE)
    assert failures[1] == "infrastructure"
    assert set(failures) <= {"infrastructure", None}, "an answer that came before is kept"


@pytest.fixture
def own(wire: Wire, execution: str) -> Iterator[RemoteVectorEnv]:
    """Three lanes on a server of ours, which is replaced when they fail."""
    env = RemoteVectorEnv(
        path=PROJECT,
        settings=project_settings(execution),
        num_envs=3,
        wire=wire,
        on_failure="replace",
        timeouts={"step": 2.0, "reset": 30.0},
        provider={"linger": 0},
    )
    try:
        yield begun(env)
    finally:
        env.close()
        pool.shutdown()


REPLACED = [("thread", "hang", 1), ("async", "block", 3), ("inline", "hang", 3), ("thread", "die", 3)]
"""With how many of the lanes move."""


@pytest.mark.parametrize(("execution", "command", "moved"), REPLACED, scope="module")
def test_lanes_are_given_another_server_and_the_one_they_all_left_is_ended(
    own: RemoteVectorEnv, command: str, moved: int
) -> None:
    first = own.servers[0]
    process = process_at(first)
    step = own.step(orders_in(own, "answer", command, "answer", text="now"))
    failure = "infrastructure" if command == "die" else "timeout"
    assert failures_of(step, "now", last=BEFORE)[1] == failure
    seen = until_all_answer(own, texts(step[0]), within=5)
    refuse_unexplained(seen, failure)
    if moved == 1:
        assert (own.servers[0], own.servers[2]) == (first, first), "nobody else lost anything"
        assert own.servers[1] != first
        assert process.is_running()
    else:
        assert len(set(own.servers)) == 1, "lanes that leave one server meet again"
        assert own.servers[0] != first
        assert all_end([process])
