"""Remote environments as verifiers runs its own: real interactions, with an endpoint that answers by a script."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
from pydantic import ValidationError
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.utils.loaders import environment_class, load_environment

from openenv_gym.trainers.verifiers import PLUGIN, REWARD, RemoteEnv, RemoteEnvConfig
from tests.support.judge_endpoint import Asked, judge_endpoint
from tests.support.servers import ROOT, running_server
from tests.support.sessions import wait_for_sessions
from tests.trainers.programs.running import raises, run

PLAYER = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}


def blackjack() -> Any:
    return running_server("server.app:app", cwd=ROOT / "envs" / "blackjack")


def say(asked: Asked, text: str) -> None:
    """Answers a request as a stream of one part."""

    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        told = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
        return f"data: {json.dumps({**told, **more})}\n\n"

    parts = [
        chunk([{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        chunk([], usage={"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}),
        "data: [DONE]\n\n",
    ]
    asked.send(200, "".join(parts), Content_Type="text/event-stream")


def episodes(base_url: str, answer: Callable[[str], str], **taskset: Any) -> list[Any]:
    """Plays all tasks; the model's answer follows from the last message."""
    config = RemoteEnvConfig(taskset={"id": PLUGIN, "environment": base_url, **taskset}, player=PLAYER)
    env = load_environment(config)
    assert type(env) is RemoteEnv

    async def main(url: str) -> list[Any]:
        context = ModelContext(model="m", client=EvalClientConfig(base_url=f"{url}/v1", api_key_var="NO_KEY"))
        async with env.serving():
            return [await env.run_episode(task, context) for task in env.taskset]

    with judge_endpoint(lambda asked: say(asked, answer(asked.prompt))) as endpoint:
        return asyncio.run(main(endpoint.url))


def check_rewards_are_those_of_the_environment() -> None:
    def answer(message: str) -> str:
        hand = re.findall(r"\[(\d+), \d+, \d\]", message)
        return json.dumps({"action": int(int(hand[-1]) < 17)})

    with blackjack() as server:
        played = episodes(server.base_url, answer, seeds=[1, 2])
        wait_for_sessions(server, 0)
    for seed, episode in zip([1, 2], played, strict=True):
        assert episode.ok, episode.errors
        (trace,) = episode.traces
        local = gymnasium.make("Blackjack-v1", sab=True)
        observation, _ = local.reset(seed=seed)
        total, over, steps = 0.0, False, 0
        while not over:
            observation, reward, over, _, _ = local.step(int(observation[0] < 17))
            total, steps = total + float(reward), steps + 1
        assert trace.rewards[REWARD].score == total
        told = {"steps": float(steps), "refused_actions": 0.0, "terminated": 1.0, "truncated": 0.0}
        assert {name: trace.metrics[name] for name in told} == told


def check_answers_that_are_no_actions_end_an_episode() -> None:
    with blackjack() as server:
        (episode,) = episodes(server.base_url, lambda _: "I would rather not.", max_refused=1)
        wait_for_sessions(server, 0)
    (trace,) = episode.traces
    assert (trace.stop_condition, trace.metrics["refused_actions"]) == ("refused_actions", 2.0)
    assert REWARD not in trace.rewards


def check_a_failure_is_the_episodes_error_and_no_reward() -> None:
    with blackjack() as server:

        def kill(_: str) -> str:
            os.kill(server.pid, signal.SIGKILL)
            return "1"

        (episode,) = episodes(server.base_url, kill, seeds=[3])
    assert not episode.ok
    assert "Connection" in episode.errors[0].message or "Session" in episode.errors[0].message, episode.errors
    assert all(REWARD not in trace.rewards for trace in episode.traces)


def check_a_package_of_two_lines_makes_it_known() -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "my_blackjack"
        package.mkdir()
        lines = [
            "from openenv_gym.trainers.verifiers import RemoteEnv, RemoteTaskset",
            '__all__ = ["RemoteEnv", "RemoteTaskset"]',
        ]
        (package / "__init__.py").write_text("\n".join(lines), encoding="utf-8")
        sys.path.insert(0, folder)
        assert environment_class("my-blackjack") is RemoteEnv
        sys.path.remove(folder)
    with raises(ValidationError, "environment: name"):
        RemoteEnvConfig(taskset={"id": PLUGIN})
    with raises(ValidationError, "one of seeds and resets"):
        RemoteEnvConfig(taskset={"id": PLUGIN, "environment": "e", "seeds": [1], "resets": [{}]})


if __name__ == "__main__":
    run(globals())
