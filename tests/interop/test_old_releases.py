"""Earlier releases of openenv, both directions: their clients at our server, our clients at theirs.

Run by ``make test-interop-old``, which writes ``results.md`` beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from openenv_gym_protocol import errors

import openenv_gym
from openenv_gym.client import GenericEnvClient
from openenv_gym.testing.conformance import validate_server
from tests.interop.better import BETTER_FRAMES
from tests.interop.conftest import available
from tests.interop.exchanges import FRAMES
from tests.support.comparing import Compared, unexpected
from tests.support.stock import OLD, StockEnvironment, play, serving
from tests.support.wire import record_frames

pytestmark = pytest.mark.interop_old

SCRIPT: list[list[Any]] = [
    ["reset", {"seed": 1, "episode_id": "x", "foo": [1]}],
    ["step", {"cmd": "hi", "n": 3, "payload": {"a": [1, 2.5, None, "é"]}}],
    ["state", None],
    ["step", {"cmd": "reward int"}],
    ["step", {"cmd": "raise"}],
    ["step", {"cmd": "hi", "extra": 1}],
    ["step", {"cmd": "done"}],
    ["reset", {}],
    ["state", None],
]

ASKED = [
    "an episode",
    "reset without data",
    "reset with options",
    "reset again",
    "step before reset",
    "step after done",
    "close at once",
    "a number as text",
    "numbers",
    "text of all kinds",
    "integer reward",
    "boolean reward",
    "not finite",
    "large payload",
    "exception",
    "broken JSON",
    "unknown type",
    "array frame",
    "step without data",
    "unknown field",
    "two wrong fields",
    "step options on top",
]
"""The exchanges without metadata, which servers before 0.10 dropped."""


@pytest.fixture(scope="module", params=OLD)
def old(request: pytest.FixtureRequest) -> StockEnvironment:
    """An earlier release, alone in its environment."""
    return available(request.param)


@pytest.fixture(scope="module")
def old_servers(old: StockEnvironment) -> Iterator[dict[str, str]]:
    """The base URLs of the apps under that release's own server."""
    with serving(old.python, ["probe:probe_app", "probe:plain_app", "counter:counter_app"]) as urls:
        yield {name.partition(":")[2]: url for name, url in urls.items()}


@pytest.fixture
def compared_with_old(request: pytest.FixtureRequest, old: StockEnvironment) -> Iterator[Compared]:
    """Counts for the run's summary and its results file."""
    counter = Compared()
    yield counter
    request.node.user_properties.append((f"exchanges with openenv {old.version}", counter.count))


def without_metadata(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers without the metadata inside observations, which servers before 0.10 dropped."""
    for answer in answers:
        if answer.get("type") == "observation":
            answer["data"]["observation"].pop("metadata", None)
    return answers


@pytest.mark.parametrize("name", ASKED)
def test_its_server_and_ours_answer_equally(
    name: str, old_servers: dict[str, str], ported_servers: dict[str, str], compared_with_old: Compared
) -> None:
    theirs = without_metadata(record_frames(old_servers["probe_app"], FRAMES[name]))
    ours = without_metadata(record_frames(ported_servers["probe_app"], FRAMES[name]))
    assert unexpected(theirs, ours, BETTER_FRAMES.get(name)) == []
    compared_with_old.add(len(theirs))


def told(old: StockEnvironment, base_url: str) -> list[dict[str, Any]]:
    """What that release's generic client tells of the script."""
    lines = play(old.python, "generic_client.py", "async", base_url, json.dumps(SCRIPT))
    for line in lines:
        if "text" in line:
            line["text"] = line["text"].partition(" [error ")[0].partition(" (code:")[0]
        elif line["call"] != "state":
            line["returned"]["observation"].pop("metadata", None)
    return lines


def test_its_client_sees_the_same_at_our_server(
    old: StockEnvironment, old_servers: dict[str, str], ported_servers: dict[str, str], compared_with_old: Compared
) -> None:
    expected = told(old, old_servers["probe_app"])
    assert told(old, ported_servers["probe_app"]) == expected
    assert len(expected) == len(SCRIPT)
    compared_with_old.add(len(expected))


def test_its_typed_client_sees_the_same_at_our_server(
    old: StockEnvironment, old_servers: dict[str, str], ported_servers: dict[str, str], compared_with_old: Compared
) -> None:
    expected, seen = (
        play(old.python, "typed_client.py", servers["counter_app"], "1", "3", "0")
        for servers in (old_servers, ported_servers)
    )
    assert seen == expected
    assert len(seen) == 5
    compared_with_old.add(len(seen))


def test_our_client_returns_what_its_servers_frames_say(
    old_servers: dict[str, str], compared_with_old: Compared
) -> None:
    reset, actions = {"seed": 2, "episode_id": "typed"}, [{"amount": 3}, {"amount": 0}, {"amount": 2}]
    frames = [{"type": "reset", "data": reset}, *({"type": "step", "data": action} for action in actions)]
    raw = [answer["data"] for answer in record_frames(old_servers["counter_app"], [*frames, {"type": "state"}])]
    with GenericEnvClient(old_servers["counter_app"]).sync() as client:
        results = [client.reset(seed=2, episode_id="typed"), *map(client.step, actions)]
        seen = [{"observation": r.observation, "reward": r.reward, "done": r.done} for r in results]
        assert [*seen, client.state()] == raw
    compared_with_old.add(len(raw))


def test_its_servers_errors_have_their_classes(old_servers: dict[str, str], compared_with_old: Compared) -> None:
    with GenericEnvClient(old_servers["probe_app"]).sync() as client:
        client.reset(episode_id="goes on")
        with pytest.raises(errors.ExecutionError):
            client.step({"cmd": "raise"})
        with pytest.raises(errors.InvalidMessage):
            client.step({"cmd": "hi", "extra": 1})
        assert client.state()["episode_id"] == "goes on"
        with pytest.raises(errors.InfrastructureFailure):
            client.step({"cmd": "exit"})
        with pytest.raises(errors.SessionLost):
            client.step({"cmd": "hi"})
        assert client.reset().observation["text"] == "seed=None level=easy kwargs=[]"
    compared_with_old.add(6)


def test_its_full_server_is_told_as_such(old_servers: dict[str, str], compared_with_old: Compared) -> None:
    first = GenericEnvClient(old_servers["plain_app"]).sync()
    second = GenericEnvClient(old_servers["plain_app"]).sync()
    with first, second:
        first.reset()
        with pytest.raises(errors.CapacityReached) as caught:
            second.reset()
    assert (caught.value.active_sessions, caught.value.max_sessions) == (1, 1)
    compared_with_old.add(1)


def test_a_remote_environment_plays_on_its_server(old_servers: dict[str, str], compared_with_old: Compared) -> None:
    env = openenv_gym.RemoteEnv(old_servers["counter_app"])
    try:
        observation, _ = env.reset(seed=3)
        assert env.observation_space.contains(observation)
        rewards = [float(env.step(np.int64(2))[1]) for _ in range(3)]
        assert rewards == [1.0, 1.0, 1.0]
    finally:
        env.close()
    compared_with_old.add(4)


def test_eight_lanes_step_as_eight_environments_do(old_servers: dict[str, str], compared_with_old: Compared) -> None:
    url = old_servers["counter_app"]
    lanes = openenv_gym.RemoteVectorEnv(url, num_envs=8)
    singles = gymnasium.vector.SyncVectorEnv([lambda: openenv_gym.RemoteEnv(url)] * 8)
    try:
        one, _ = lanes.reset(seed=1)
        other, _ = singles.reset(seed=1)
        np.testing.assert_equal(one, other)
        for step in range(12):
            actions = np.full(8, step % 4)
            for left, right in zip(lanes.step(actions)[:4], singles.step(actions)[:4], strict=True):
                np.testing.assert_equal(left, right)
            compared_with_old.add(8)
    finally:
        lanes.close()
        singles.close()


@pytest.mark.parametrize("app", ["probe_app", "plain_app", "counter_app"])
def test_its_servers_pass_the_conformance_kit(app: str, old_servers: dict[str, str]) -> None:
    assert validate_server(old_servers[app]).failed == ()
