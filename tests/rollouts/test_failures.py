"""Episodes that fail: each has its class and what was played of it, and no reward; sessions are closed all the same."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import FailureClass

from openenv_gym.rollouts import Ending, Episode, Rollouts, read_trace
from tests.support.misbehaving import misbehaving_server
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sessions import PATIENCE, wait_for_sessions


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with misbehaving_server("thread") as running:
        yield running


class Script:
    """Plays the commands that an episode's reset names by its seed: command number ``seed``, after one good step."""

    def __init__(self, *commands: dict[str, Any]) -> None:
        self._commands = commands

    def begin(self, episode: Episode) -> Any:
        commands = iter([{"do": "answer", "text": "well"}, self._commands[episode.seed or 0], {"do": "done"}])

        async def policy(observation: Any) -> dict[str, Any]:
            return next(commands)

        return policy


LIMITS = (1.0, 4.0, PATIENCE)
"""Limits of time, tried one after the other until one leaves a slow machine the time for what comes before."""


FAILING: dict[str, tuple[Any, FailureClass, str]] = {
    "raise": ({"do": "raise", "text": "boom"}, FailureClass.ENVIRONMENT, "ExecutionError"),
    "assert": ({"do": "assert"}, FailureClass.ENVIRONMENT, "ExecutionError"),
    "nan_reward": ({"do": "nan_reward"}, FailureClass.ENVIRONMENT, "ExecutionError"),
    "refused": ({"do": "answer", "text": "forbidden"}, FailureClass.VALIDATION, "InvalidMessage"),
    "unknown field": ({"dew": "answer"}, FailureClass.VALIDATION, "InvalidMessage"),
    "no action": (7, FailureClass.VALIDATION, "InvalidAction"),
}


def test_each_failure_has_its_class_and_no_reward(server: RunningServer) -> None:
    script = Script(*(command for command, _, _ in FAILING.values()), {"do": "answer"})
    run = Rollouts(server.base_url, script, seeds=range(len(FAILING) + 1))
    episodes = run.play()
    for episode, (command, failure, error) in zip(episodes, FAILING.values(), strict=False):
        assert episode.failure is not None
        assert (episode.failure.failure, episode.failure.error) == (failure, error)
        assert (episode.failure.action, episode.failure.during) == (command, "step")
        assert episode.ending is Ending.FAILED
        # What came before is there, and its reward is no episode's.
        assert [(step.observation["text"], step.reward) for step in episode.steps] == [("well", 1.0)]
        assert episode.total_reward is None
    assert (episodes[-1].ending, episodes[-1].total_reward) == (Ending.TERMINATED, 3.0)
    statistics = run.statistics
    assert (statistics.failed, statistics.rewards.count, statistics.rewards.mean) == (len(FAILING), 1, 3.0)
    assert statistics.failures == {
        FailureClass.ENVIRONMENT: 3,
        FailureClass.VALIDATION: 3,
    }
    wait_for_sessions(server)


def test_an_episode_that_takes_too_long_is_a_failure_of_time(server: RunningServer) -> None:
    late = {"do": "sleep", "seconds": 3 * PATIENCE}
    for limit in LIMITS:
        run = Rollouts(server.base_url, Script(late), seeds=[0], episode_timeout=limit)
        (episode,) = run.play()
        if episode.steps:
            break
    assert episode.failure is not None
    assert (episode.failure.failure, episode.failure.during) == ("timeout", "step")
    assert "episode_timeout=" in episode.failure.message
    assert (episode.failure.action, len(episode.steps), episode.total_reward) == (late, 1, None)
    wait_for_sessions(server)


def test_a_reset_that_fails_and_one_that_is_refused(server: RunningServer) -> None:
    run = Rollouts(server.base_url, Script({"do": "answer"}), resets=[{"fail": True}, {"faill": True}, {"seed": 0}])
    failed, refused, well = run.play()
    assert failed.failure is not None
    assert refused.failure is not None
    assert (failed.failure.failure, failed.failure.during, failed.was_reset) == ("environment", "reset", False)
    assert (refused.failure.error, refused.failure.during) == ("UnknownOption", "reset")
    assert "'fail'" in refused.failure.message
    assert well.is_finished


def test_a_full_server_is_a_failure_of_capacity() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "0.2"}
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack", env=settings) as server:
        met = asyncio.Barrier(2)

        async def together(observation: Any) -> dict[str, int]:
            await met.wait()  # two episodes hold both slots until the others were refused
            while len(run.episodes) < 3:
                await asyncio.sleep(0.02)
            return {"action": 0}

        run = Rollouts(server.base_url, together, seeds=range(5), concurrency=5, episode_timeout=PATIENCE)
        run.play()
        assert run.statistics.failures == {FailureClass.CAPACITY: 3}
        assert run.statistics.terminated == 2
        wait_for_sessions(server)


def test_a_killed_server_fails_what_is_under_way_and_what_follows() -> None:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as server:

        async def killing(observation: Any) -> dict[str, int]:
            if len(run.episodes) == 4:
                os.kill(server.pid, signal.SIGKILL)
            return {"action": 0}

        run = Rollouts(server.base_url, killing, seeds=range(10), concurrency=1)
        episodes = run.play()
    assert [each.ending for each in episodes] == [Ending.TERMINATED] * 4 + [Ending.FAILED] * 6
    assert run.statistics.failures == {FailureClass.INFRASTRUCTURE: 6}
    assert run.statistics.rewards.count == 4
    assert episodes[4].was_reset
    assert not episodes[5].was_reset


def test_a_retry_is_a_fresh_episode_and_is_recorded(server: RunningServer, tmp_path: Path) -> None:
    class Flaky:
        def begin(self, episode: Episode) -> Any:
            action = {"do": "done" if episode.attempt == 3 else "raise"}

            async def policy(observation: Any) -> dict[str, Any]:
                return action

            return policy

    trace = tmp_path / "run.jsonl"
    run = Rollouts(server.base_url, Flaky(), seeds=[4], retries=2, retry_on=["environment"], trace=trace)
    (episode,) = run.play()
    assert (episode.attempt, episode.total_reward, episode.seed) == (3, 1.0, 4)
    assert [(each.attempt, each.ending, each.failure and each.failure.failure) for each in episode.earlier] == [
        (1, Ending.FAILED, FailureClass.ENVIRONMENT),
        (2, Ending.FAILED, FailureClass.ENVIRONMENT),
    ]
    assert run.statistics.retries == {FailureClass.ENVIRONMENT: 2}
    assert run.statistics.failures == {}
    assert read_trace(trace).episodes == [episode]
    wait_for_sessions(server)


def test_nothing_is_tried_again_unless_that_was_asked_for(server: RunningServer) -> None:
    script = Script({"do": "raise"})
    (once,) = Rollouts(server.base_url, script, seeds=[0]).play()
    (still,) = Rollouts(server.base_url, script, seeds=[0], retries=2).play()
    (again,) = Rollouts(server.base_url, script, seeds=[0], retries=2, retry_on=["environment"]).play()
    assert [len(each.earlier) for each in (once, still, again)] == [0, 0, 2]
    assert again.failure is not None


def test_the_limit_of_the_run_fails_what_is_under_way_and_begins_no_more(server: RunningServer) -> None:
    async def slow(observation: Any) -> dict[str, Any]:
        if len(run.episodes) < 2:
            return {"do": "done"}
        return {"do": "sleep", "seconds": 60.0}

    for limit in LIMITS:
        run = Rollouts(server.base_url, slow, seeds=range(20), concurrency=2, timeout=limit)
        run.play()
        failed = [each for each in run.episodes if each.failure]
        if len(run.episodes) - len(failed) >= 2:
            break
    assert 1 <= len(failed) <= 2
    assert all("timeout=" in each.failure.message for each in failed if each.failure)
    assert run.not_started == 20 - len(run.episodes)
    assert run.statistics.rewards.count == len(run.episodes) - len(failed) >= 2
    wait_for_sessions(server)


def test_a_cancelled_run_keeps_what_ended_and_what_was_under_way(server: RunningServer, tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"

    async def endless(observation: Any) -> dict[str, Any]:
        return {"do": "done"} if len(run.episodes) < 3 else {"do": "answer", "text": "on"}

    run = Rollouts(server.base_url, endless, seeds=range(50), concurrency=2, trace=trace)

    async def main() -> None:
        task = asyncio.create_task(run.collect())
        while len(run.episodes) < 3:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())
    assert len(run.episodes) >= 3
    assert [each.ending for each in run.interrupted] == [Ending.INTERRUPTED] * 2
    assert all(each.total_reward is None for each in run.interrupted)
    told = read_trace(trace)
    assert len(told.episodes) == len(run.episodes) + 2
    assert told.statistics is not None
    assert told.statistics["interrupted"] == 2
    wait_for_sessions(server)


PROGRAM = """
import signal, sys
from openenv_gym.rollouts import Rollouts

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored

async def policy(observation):
    if len(run.episodes) >= 5 and not told:
        told.append(print("under way", flush=True))
    return {"do": "done"} if len(run.episodes) < 5 else {"do": "answer", "text": "on"}

told = []
run = Rollouts(sys.argv[1], policy, seeds=range(1000), concurrency=3, trace=sys.argv[2])
try:
    run.play()
except KeyboardInterrupt:
    print("ended", len(run.episodes), "interrupted", len(run.interrupted), flush=True)
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_is_ended_leaves_no_session_and_whole_episodes(
    server: RunningServer, tmp_path: Path, ending: signal.Signals
) -> None:
    trace = tmp_path / "run.jsonl"
    command = [sys.executable, "-c", PROGRAM, server.base_url, str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "under way\n"
        program.send_signal(ending)
        rest = program.stdout.read()
        program.wait(PATIENCE)
    wait_for_sessions(server)
    told = read_trace(trace)
    finished = [each for each in told.episodes if each.is_finished]
    assert len(finished) >= 5
    if ending is signal.SIGINT:
        assert f"ended {len(finished)} interrupted 3" in rest
        assert len(told.episodes) == len(finished) + 3
    else:
        assert told.statistics is None
