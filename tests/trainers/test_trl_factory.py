"""What TRL is given: classes made of what a server offers. Nothing here needs TRL; ``test_trl.py`` trains with it."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ConnectError, InfrastructureFailure

from openenv_gym.rollouts import Ending, EnvironmentSource, Episode
from openenv_gym.trainers.trl import EnvironmentFactory, environment_factory
from tests.support.log_records import records_of_ours
from tests.support.misbehaving import misbehaving_server
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sessions import wait_for_sessions


@pytest.fixture(scope="module")
def blackjack() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as running:
        yield running


@pytest.fixture(scope="module")
def counter() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.tools:counter_app") as running:
        yield running


def public(made: Any) -> list[str]:
    """What TRL finds in a class."""
    return [name for name, _ in inspect.getmembers(type(made), inspect.isfunction) if not name.startswith("_")]


def test_an_environment_of_actions_has_one_tool(blackjack: RunningServer) -> None:
    environment = environment_factory(blackjack.base_url)()
    assert public(environment) == ["get_reward", "reset", "step"]
    assert environment.reset(prompt="ignored", seed=np.int64(1)) == '\n\n{"hand": [20, 7, 0]}'
    assert "less than or equal to 1" in environment.step(5)
    assert environment.get_reward() is None  # nothing was played
    assert environment.step(action=0) == '{"hand": [20, 7, 0]}\n\nThe episode is over.'
    assert environment.step(0) == "Error: The episode is over."
    assert environment.get_reward() == 1.0
    assert environment.reset(seed=1) == '\n\n{"hand": [20, 7, 0]}'
    environment._close()
    wait_for_sessions(blackjack)


def test_an_environment_of_tools_has_its_tools(counter: RunningServer) -> None:
    factory = environment_factory(counter.base_url, name="Counter")
    environment = factory()
    assert type(environment).__name__ == "Counter"
    assert {"count", "picture", "fail", "later", "read_then_write"} < set(public(environment))
    environment.reset()
    assert environment.count() == "1"
    assert environment.fail().startswith("Error: ")
    assert environment.count(by=2) == "3\n\nThe episode is over."
    assert environment.get_reward() == 0.5 + 0.5 + 1.0
    factory.close()
    wait_for_sessions(counter)


def test_only_the_tools_that_were_asked_for(counter: RunningServer) -> None:
    chosen = environment_factory(counter.base_url, tools=["later", "count"], reward=None)()
    assert public(chosen) == ["count", "later", "reset"]
    with pytest.raises(ConfigurationError, match=r"no tool 'cuont'. Did you mean 'count'"):
        environment_factory(counter.base_url, tools=["cuont"])()


@pytest.mark.parametrize(
    ("keywords", "rewards"),
    [
        ({}, (None, 1.0)),
        ({"no_reward": -1.0}, (-1.0, 1.0)),
        ({"reward": "last"}, (None, 0.5)),
        ({"reward": lambda episode: float(len(episode.steps))}, (0.0, 2.0)),
    ],
)
def test_what_a_rollout_gets(counter: RunningServer, keywords: dict[str, Any], rewards: tuple[Any, float]) -> None:
    environment = environment_factory(counter.base_url, **keywords)()
    environment.reset(seed=1)
    before = environment.get_reward()
    environment.count()
    environment.count(by=0)
    assert (before, environment.get_reward()) == rewards


def test_a_rollout_that_failed_has_no_reward_whatever_stands_in_for_one() -> None:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as server:
        factory = environment_factory(server.base_url, no_reward=0.0, reward=lambda _: 7.0)
        environment = factory()
        environment.reset(seed=3)
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(InfrastructureFailure):
            environment.step(1)
        assert environment.get_reward() is None
        assert environment._episode.ending is Ending.FAILED
        assert environment.step(1).startswith("Error: the episode failed.")
        with pytest.raises(ConnectError):
            environment.reset(seed=3)
        assert environment.get_reward() is None


def test_columns_and_steps_that_are_named_reach_the_environment(blackjack: RunningServer) -> None:
    factory = environment_factory(blackjack.base_url, columns=["natural", "sab"], max_steps=1)
    environment = factory()
    environment.reset(seed=3, natural=True, sab=False, prompt=[], other=1)
    assert environment._episode.options == {"natural": True, "sab": False}
    assert environment.step(1).endswith("The episode is over.")
    assert environment._episode.ending in (Ending.TERMINATED, Ending.TRUNCATED)
    factory.close()


def test_a_seed_that_begins_otherwise_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with misbehaving_server("thread") as server:
        factory = environment_factory(server.base_url)
        environments = [factory() for _ in range(3)]
        with caplog.at_level(logging.WARNING, "openenv_gym.rollouts"):
            for environment in environments:
                environment.reset(seed=5)
            assert not records_of_ours(caplog)
            factory._firsts.compare(5, {}, {"text": "another"})
        (record,) = records_of_ours(caplog)
        assert "Episodes of seed 5 did not begin alike: they differ at text" in record.getMessage()
        factory.close()


def test_sessions_end_with_their_environments(blackjack: RunningServer) -> None:
    factory = EnvironmentFactory(EnvironmentSource(blackjack.base_url))
    pool = [factory() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda environment: environment.reset(seed=1), pool))
    wait_for_sessions(blackjack, 4)
    assert len(factory.environments) == 4
    pool.clear()
    gc.collect()
    wait_for_sessions(blackjack, 0)


def test_one_environment_serves_threads_in_turn(counter: RunningServer) -> None:
    environment = environment_factory(counter.base_url)()
    environment.reset()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: environment.read_then_write(), range(40)))
    assert environment.read_then_write() == '{"value": 41}'
    assert environment.get_reward() == 0.5 * 41
    environment._close()


def test_wrong_arguments_are_refused(blackjack: RunningServer) -> None:
    with pytest.raises(ConfigurationError, match="reward must be"):
        environment_factory(blackjack.base_url, reward="most")
    with pytest.raises(ConfigurationError, match="has none: it has actions"):
        environment_factory(blackjack.base_url, tools=["step"])()
    with pytest.raises(ConfigurationError, match="belong to the source"):
        environment_factory(EnvironmentSource(blackjack.base_url), token="t")


def test_an_episode_of_an_environment_is_one_of_rollouts(blackjack: RunningServer) -> None:
    environment = environment_factory(blackjack.base_url)()
    environment.reset(seed=1)
    environment.step(0)
    episode: Episode = environment._episode
    assert (episode.seed, episode.total_reward, episode.ending) == (1, 1.0, Ending.TERMINATED)
    environment._close()
