"""Replays: an episode is played again and compared, and the first difference is named."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConnectError

from openenv_gym.client import GenericEnvClient
from openenv_gym.rollouts import Episode, Replay, Rollouts, read_trace, replay
from tests.support.misbehaving import misbehaving_server
from tests.support.servers import ROOT, RunningServer, running_server


@pytest.fixture(scope="module")
def blackjack() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as running:
        yield running


async def careful(observation: Any) -> dict[str, int]:
    return {"action": int(observation["hand"][0] < 17)}


def replayed(base_url: str, episode: Episode) -> Replay:
    async def main() -> Replay:
        async with GenericEnvClient(base_url) as client:
            return await replay(episode, client)

    return asyncio.run(main())


@pytest.fixture(scope="module")
def longest(blackjack: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Episode:
    """The longest of twenty episodes, read from a trace."""
    path = tmp_path_factory.mktemp("traces") / "run.jsonl"
    Rollouts(blackjack.base_url, careful, seeds=range(20), trace=path).play()
    return max(read_trace(path).episodes, key=lambda episode: len(episode.steps))


def test_an_episode_is_the_same_again(blackjack: RunningServer, longest: Episode) -> None:
    found = replayed(blackjack.base_url, longest)
    assert found == Replay(len(longest.steps))
    assert found.is_same
    assert str(found) == f"the same in the reset and {len(longest.steps)} steps"


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("reward", 0.25, "reward"),
        ("terminated", True, "done"),
        ("observation", {"hand": [1, 2, 3]}, "observation.hand[0]"),
        ("observation", {"hand": [], "more": 1}, "observation.hand.length"),
    ],
)
def test_the_first_difference_is_named(
    blackjack: RunningServer, longest: Episode, field: str, value: Any, told: str
) -> None:
    assert len(longest.steps) >= 2
    steps = [dataclasses.replace(longest.steps[0], **{field: value}), *longest.steps[1:]]
    found = replayed(blackjack.base_url, dataclasses.replace(longest, steps=steps))
    assert found.at == 1
    assert found.difference is not None
    assert found.difference.field == told
    assert str(found).startswith("step 1 differs at")


def test_another_seed_differs_at_the_reset(blackjack: RunningServer, longest: Episode) -> None:
    found = replayed(blackjack.base_url, dataclasses.replace(longest, seed=(longest.seed or 0) + 1))
    assert found.at == 0
    assert found.difference is not None
    assert found.difference.field.startswith("observation.hand")


def test_an_action_that_is_no_longer_taken_is_a_difference(blackjack: RunningServer, longest: Episode) -> None:
    steps = [dataclasses.replace(longest.steps[0], action={"action": 9})]
    found = replayed(blackjack.base_url, dataclasses.replace(longest, steps=steps))
    assert (found.at, found.difference and found.difference.field) == (1, "failure")
    assert found.difference is not None
    assert found.difference.found.startswith("validation (InvalidMessage")


def test_a_failure_of_the_environments_is_repeated() -> None:
    def fail(do: str) -> Episode:
        async def policy(observation: Any) -> dict[str, Any]:
            return {"do": "answer" if observation["text"].startswith("seed") else do}

        (episode,) = Rollouts(server.base_url, policy, seeds=[1]).play()
        assert episode.failure is not None
        return episode

    with misbehaving_server("thread") as server:
        failed = fail("raise")
        assert replayed(server.base_url, failed) == Replay(1)
        assert failed.failure is not None
        healed = dataclasses.replace(failed, failure=dataclasses.replace(failed.failure, action={"do": "answer"}))
        found = replayed(server.base_url, healed)
        assert (found.at, str(found)) == (2, "step 2 differs at failure: 'environment' and None")
        (no_reset,) = Rollouts(server.base_url, careful, resets=[{"fail": True}]).play()
        assert replayed(server.base_url, no_reset) == Replay(0)


def test_a_failure_of_the_machines_is_raised(longest: Episode) -> None:
    with pytest.raises(ConnectError):
        replayed("http://127.0.0.1:9", longest)
