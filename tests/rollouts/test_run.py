"""Many episodes at once against real servers: what comes back, in which order, and what is left behind."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import gymnasium
import psutil
import pytest
from blackjack_env import BlackjackAction, BlackjackEnv
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction

from openenv_gym.client import EnvClient, GenericEnvClient
from openenv_gym.rollouts import Ending, EnvironmentSource, Episode, Rollouts
from tests.support.pools import all_end, process_at
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sessions import metric_of, wait_for_sessions


@pytest.fixture(scope="module")
def blackjack() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as running:
        yield running


async def careful(observation: Any) -> dict[str, int]:
    """Hits below 17."""
    return {"action": int(observation["hand"][0] < 17)}


def played_locally(seed: int) -> tuple[tuple[int, ...], float, int]:
    """The first observation, the return and the number of steps of the same policy in Gymnasium's own environment."""
    env = gymnasium.make("Blackjack-v1", sab=True)
    observation, _ = env.reset(seed=seed)
    first = observation
    total, steps, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(int(observation[0] < 17))
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
    env.close()
    return tuple(int(each) for each in first), total, steps


def test_every_member_of_every_group_is_the_episode_of_its_seed(blackjack: RunningServer) -> None:
    run = Rollouts(blackjack.base_url, careful, seeds=range(12), group_size=3, concurrency=5)
    episodes = run.play()
    assert [(each.number, each.group, each.member) for each in episodes] == [
        (group * 3 + member, group, member) for group in range(12) for member in range(3)
    ]
    for episode in episodes:
        first, total, steps = played_locally(int(episode.seed or 0))
        assert episode.seed == episode.group
        assert tuple(episode.first_observation["hand"]) == first
        assert (episode.total_reward, len(episode.steps), episode.ending) == (total, steps, Ending.TERMINATED)
    assert run.statistics.rewards.count == 36
    assert run.statistics.rewards_by_group[4].std == 0.0
    assert run.statistics.differing_groups == ()
    assert run.not_started == 0
    wait_for_sessions(blackjack)


def test_no_more_sessions_are_opened_than_asked_for(blackjack: RunningServer) -> None:
    before = metric_of(blackjack, "openenv_gym_sessions_opened_total")
    at_once, most = 0, 0

    async def counting(observation: Any) -> dict[str, int]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1
        return await careful(observation)

    assert len(Rollouts(blackjack.base_url, counting, seeds=range(30), concurrency=4).play()) == 30
    # Episodes follow each other in a session.
    assert metric_of(blackjack, "openenv_gym_sessions_opened_total") - before <= 4
    assert 2 <= most <= 4
    wait_for_sessions(blackjack)


def test_episodes_come_as_they_end_and_an_endless_run_can_be_left(blackjack: RunningServer) -> None:
    async def main() -> Rollouts:
        seen: list[Episode] = []
        async with Rollouts(blackjack.base_url, careful, seeds=itertools.count(), concurrency=4) as run:
            async for episode in run:
                seen.append(episode)
                if len(seen) == 10:
                    break
        assert seen == run.episodes[:10]
        return run

    run = asyncio.run(main())
    assert run.not_started is None
    # Who reads slowly is waited for: not much more was played than was read.
    assert len(run.episodes) <= 10 + 2 * 4
    assert all(each.ending is Ending.INTERRUPTED for each in run.interrupted)
    assert run.statistics.interrupted == len(run.interrupted)
    wait_for_sessions(blackjack)


def test_clients_with_models_of_their_own_play_too(blackjack: RunningServer) -> None:
    async def typed(observation: Any) -> BlackjackAction:
        return BlackjackAction(action=int(observation.hand[0] < 17))

    def make() -> EnvClient[Any, Any, Any]:
        return BlackjackEnv(blackjack.base_url)

    episodes = Rollouts(make, typed, resets=[{"seed": 3, "natural": True, "sab": False}], group_size=2).play()
    assert [each.options for each in episodes] == [{"natural": True, "sab": False}] * 2
    assert {each.total_reward for each in episodes} == {played_locally(3)[1]}
    wait_for_sessions(blackjack)


def test_an_id_starts_a_server_and_brings_its_limit_of_steps() -> None:
    async def left(observation: Any) -> dict[str, Any]:
        return {"action": 0}

    source = EnvironmentSource("openenv/MountainCar-v0")
    run = Rollouts(source, left, seeds=[1])
    (episode,) = run.play()
    assert (len(episode.steps), episode.ending, episode.total_reward) == (200, Ending.TRUNCATED, -200.0)
    assert run.statistics.truncated == 1
    source.close()


def test_a_closed_source_begins_again_and_its_second_close_ends_that_server_too() -> None:
    source = EnvironmentSource("openenv/Blackjack-v0", provider={"name": "process", "linger": 0})
    for _ in range(2):
        server = process_at(source.client(GenericEnvClient).base_url)
        assert server.is_running()
        source.close()
        source.close()
        assert all_end([server])


def test_a_server_of_an_id_that_is_killed_is_started_anew_for_a_retry() -> None:
    source = EnvironmentSource("openenv/Blackjack-v0")

    async def killing(observation: Any) -> dict[str, int]:
        if len(run.episodes) == 2 and not killed:
            port = int(str(source.client(GenericEnvClient).base_url).rpartition(":")[2])
            served = [each for each in psutil.net_connections("tcp") if each.laddr and each.laddr.port == port]
            killed.extend(each.pid for each in served if each.status == psutil.CONN_LISTEN and each.pid)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return {"action": 0}

    killed: list[int] = []
    run = Rollouts(source, killing, seeds=range(5), concurrency=1, retries=1)
    episodes = run.play()
    assert killed
    assert [each.is_finished for each in episodes] == [True] * 5
    assert [each.attempt for each in episodes] == [1, 1, 2, 1, 1]
    assert run.statistics.retries == {"infrastructure": 1}
    source.close()


def test_a_limit_of_steps_truncates(blackjack: RunningServer) -> None:
    async def hit(observation: Any) -> dict[str, int]:
        return {"action": 1}

    run = Rollouts(blackjack.base_url, hit, seeds=range(20), max_steps=1)
    assert {len(each.steps) for each in run.play()} == {1}
    assert run.statistics.truncated > 0
    assert all(each.steps[-1].truncated for each in run.episodes if each.ending is Ending.TRUNCATED)
    assert run.statistics.rewards.count == 20


def test_what_a_policy_raises_ends_the_run_and_keeps_what_was_there(blackjack: RunningServer) -> None:
    async def fragile(observation: Any) -> dict[str, int]:
        if len(run.episodes) >= 5:
            raise ZeroDivisionError("a fault of the policy's")
        return await careful(observation)

    run = Rollouts(blackjack.base_url, fragile, seeds=range(50), concurrency=3)
    with pytest.raises(ZeroDivisionError):
        run.play()
    assert len(run.episodes) >= 5
    assert run.interrupted
    assert run.not_started
    assert run.statistics.failed == 0
    wait_for_sessions(blackjack)


def test_an_error_with_a_class_of_a_policys_fails_its_episode_alone(blackjack: RunningServer) -> None:
    async def sometimes(observation: Any) -> dict[str, int]:
        if observation["hand"][0] < 12:
            raise InvalidAction("the model wrote no action")
        return {"action": 0}

    run = Rollouts(blackjack.base_url, sometimes, seeds=range(30))
    failed = [each for each in run.play() if each.failure is not None]
    assert 0 < len(failed) < 30
    assert {(each.failure.failure, each.failure.during) for each in failed if each.failure} == {
        ("validation", "policy")
    }
    assert run.statistics.rewards.count == 30 - len(failed)


def test_a_group_whose_members_differ_is_told(blackjack: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    # A seed is obeyed; without one, each member is dealt other cards.
    with caplog.at_level(logging.WARNING, "openenv_gym.rollouts"):
        run = Rollouts(blackjack.base_url, careful, resets=[{}, {"seed": 5}], group_size=8)
        run.play()
    assert run.statistics.differing_groups == (0,)
    difference = run.groups[0].differences[0]
    assert difference.difference.field.startswith("hand[")
    assert difference.difference.expected != difference.difference.found
    assert [record.message for record in caplog.records if "Group 0" in record.message]
    assert not [record for record in caplog.records if "Group 1" in record.message]


def test_a_run_is_played_once(blackjack: RunningServer) -> None:
    run = Rollouts(blackjack.base_url, careful, seeds=[1])
    run.play()
    with pytest.raises(RuntimeError, match="played once"):
        run.play()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "one of seeds= and resets="),
        ({"seeds": [1], "resets": [{}]}, "one of seeds= and resets="),
        ({"seeds": [1], "group_size": 0}, "group_size must be at least 1"),
        ({"seeds": [1], "concurrency": 0}, "concurrency must be more than 0"),
        ({"seeds": [1], "timeout": -1}, "timeout must be more than 0"),
        ({"seeds": [1], "retries": -1}, "retries must be 0 or more"),
        ({"seeds": [1], "retry_on": ["weather"]}, "retry_on"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Rollouts("http://127.0.0.1:1", careful, **arguments)


def test_a_seed_that_is_none_ends_the_run() -> None:
    with pytest.raises(ConfigurationError, match="must be an integer"):
        Rollouts("http://127.0.0.1:1", careful, resets=[{"seed": "seven"}]).play()


@pytest.mark.parametrize(
    ("environment", "keywords", "told"),
    [
        ("openenv/NoSuch-v0", {}, "neither the address of a server nor an id"),
        ("CartPole-v1", {}, "an environment of this process"),
        ("openenv/Blackjack-v0", {"token": "t"}, "token= is for an address"),
    ],
)
def test_a_source_says_what_it_cannot_be(environment: str, keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        EnvironmentSource(environment, **keywords)


def test_a_source_of_an_address_has_its_token() -> None:
    settings = {"OPENENV_GYM_TOKEN": "secret"}
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack", env=settings) as server:
        open_source = EnvironmentSource(server.base_url, token="secret")
        assert Rollouts(open_source, careful, seeds=[1]).play()[0].ending is Ending.TERMINATED
        (refused,) = Rollouts(server.base_url, careful, seeds=[1]).play()
        assert refused.failure is not None
        assert (refused.failure.error, refused.failure.during) == ("Unauthorized", "reset")
        with open_source.client(GenericEnvClient).sync() as client:
            assert "hand" in client.reset().observation
