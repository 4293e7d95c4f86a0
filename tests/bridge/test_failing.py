"""A lane that fails costs nobody else anything, and what is reported of it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.failing import MOST_IN_A_ROW
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.servers import RunningServer, running_server

BLACKJACK = Path(__file__).resolve().parents[2] / "envs" / "blackjack"

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture
def misbehaving() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.misbehaving:app") as server:
        yield server


@pytest.fixture
def make(wire: Wire) -> Iterator[Make]:
    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
            env = RemoteVectorEnv(*args, **{"wire": wire, **kwargs})
            stack.callback(env.close)
            return env

        yield make


def orders(*commands: str, **values: Any) -> list[dict[str, Any]]:
    """One action for each lane, in the faithful view of the app's model."""
    filled = {"text": "", "seconds": np.zeros(1, np.float32), "number": np.zeros(1, np.int64), **values}
    return [{"do": command, **filled} for command in commands]


def texts(observation: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = observation["text"]
    return found


def orders_in(env: RemoteVectorEnv, *commands: str, **values: Any) -> list[dict[str, Any]]:
    """The same, with the keys that the space has."""
    keys = env.single_action_space.spaces.keys()  # type: ignore[attr-defined]
    return [{key: value for key, value in order.items() if key in keys} for order in orders(*commands, **values)]


FAULTS = [
    ("NextStep", "raise", "environment"),
    ("NextStep", "exit", "environment"),
    ("NextStep", "none", "environment"),
    ("NextStep", "nan_reward", "environment"),
    ("NextStep", "hang", "timeout"),
    ("SameStep", "raise", "environment"),
    ("SameStep", "hang", "timeout"),
]


@pytest.mark.parametrize(("mode", "command", "failure"), FAULTS)
def test_a_failed_lane_is_truncated_and_goes_on(
    command: str, failure: str, mode: str, misbehaving: RunningServer, make: Make
) -> None:
    env = make(
        misbehaving.base_url,
        num_envs=3,
        autoreset_mode=mode,
        on_failure="truncate",
        timeouts={"step": 0.5, "reset": 2.0 if mode == "NextStep" else 0.5},
    )
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


def test_a_late_lane_among_many_costs_nobody_else_anything(misbehaving: RunningServer, make: Make) -> None:
    env = make(misbehaving.base_url, num_envs=128, timeouts={"step": 1.0}, on_failure="truncate")
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


def test_a_late_lane_keeps_no_other_from_being_received(misbehaving: RunningServer, make: Make) -> None:
    env = make(misbehaving.base_url, num_envs=128)
    env.reset()
    commands = ["answer"] * 128
    commands[3] = "hang"
    env.send(orders_in(env, *commands))
    received: list[int] = []
    while len(received) < 127:
        received += env.recv(min_lanes=1, timeout=10)[0].tolist()
    assert sorted(received) == [lane for lane in range(128) if lane != 3]
    env.send(orders_in(env, *["answer"] * 127, text="again"), received)
    again: list[int] = []
    while len(again) < 127:
        lanes, observation, *_ = env.recv(min_lanes=1, timeout=10)
        again += lanes.tolist()
        assert set(texts(observation)) == {"again"}
    env.send(orders_in(env, "release"), [0])  # ends what hangs: lane 3's step comes at last, and as lane 3's
    late: dict[int, str] = {}
    while len(late) < 2:
        lanes, observation, *_ = env.recv(min_lanes=1, timeout=10)
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
