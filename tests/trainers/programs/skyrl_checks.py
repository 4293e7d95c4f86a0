"""Remote environments as skyrl-gym makes and steps its own."""

from __future__ import annotations

import gc
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import skyrl_gym
from openenv_gym_protocol.errors import ConfigurationError, InfrastructureFailure
from skyrl_gym.envs.base_text_env import BaseTextEnv
from skyrl_gym.metrics import aggregate_for_environment

from openenv_gym.trainers import skyrl
from tests.support.servers import ROOT, running_server
from tests.support.sessions import wait_for_sessions
from tests.trainers.programs.running import raises, run

PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Play."}]


def blackjack() -> Any:
    return running_server("server.app:app", cwd=ROOT / "envs" / "blackjack")


def locally(seed: int) -> float:
    """The return of a careful player in Gymnasium's own blackjack."""
    env = gymnasium.make("Blackjack-v1", sab=True)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, over, _, _ = env.step(int(observation[0] < 17))
        total += float(reward)
    env.close()
    return total


def played(env: BaseTextEnv) -> float:
    """The same by text."""
    messages, _ = env.init(PROMPT)
    assert messages[0] == PROMPT[0]
    hand = json.loads(messages[1]["content"].removeprefix("Play.\n\n"))["hand"]
    total, done = 0.0, False
    while not done:
        output = env.step(str(int(hand[0] < 17)))
        total, done = total + output["reward"], output["done"]
        told = output["metadata"]["final_observation"] if done else output["observations"][0]["content"]
        assert bool(output["observations"]) is not done
        hand = json.loads(told)["hand"]
    assert output["metadata"]["terminated"]
    return total


def check_episodes_are_those_of_their_seeds() -> None:
    with blackjack() as server, ThreadPoolExecutor(4) as threads:
        skyrl.register("blackjack", server.base_url)
        envs = [skyrl_gym.make("blackjack", env_config=None, extras={"seed": seed}) for seed in range(8)]
        assert list(threads.map(played, envs)) == [locally(seed) for seed in range(8)]
        metrics = [env.get_metrics() for env in envs]
        assert sum(each["total_reward"] for each in metrics) == sum(locally(seed) for seed in range(8))
        assert aggregate_for_environment("blackjack", metrics)["refused"] == 0.0
        for env in envs[:4]:
            env.close()
            env.close()
        wait_for_sessions(server, 4)
        env = None
        envs.clear()
        gc.collect()
        wait_for_sessions(server, 0)


def check_what_is_no_action_is_told_and_turns_end() -> None:
    with blackjack() as server:
        env = skyrl.RemoteTextEnv({"environment": server.base_url}, {"seed": 1, "max_turns": 2})
        env.init([])
        refused = env.step("I stand.")
        assert refused["observations"][0]["content"].startswith("Error: ")
        assert (refused["reward"], refused["done"]) == (0.0, False)
        assert refused["metadata"]["error"]
        assert refused["metadata"]["reward_missing"]
        last = env.step("still no action")
        assert last["done"]
        assert (last["metadata"]["truncated"], last["metadata"]["terminated"]) == (True, False)
        assert env.get_metrics() == {"turns": 2, "steps": 0, "refused": 2, "total_reward": 0.0}
        env.close()


def check_a_failure_is_raised() -> None:
    with blackjack() as server:
        env = skyrl.RemoteTextEnv(environment=server.base_url, extras={"reset_options": {"natural": True}})
        env.init(PROMPT)
        os.kill(server.pid, signal.SIGKILL)
        with raises(InfrastructureFailure):
            env.step("1")
    with raises(ConfigurationError, "environment="):
        skyrl.RemoteTextEnv()


def check_an_id_starts_a_server() -> None:
    skyrl.register("echo", "openenv/Echo-v0", max_turns=5)
    env = skyrl_gym.make("echo")
    assert json.loads(env.spec.to_json())["kwargs"]["environment"] == "openenv/Echo-v0"
    env.init(PROMPT)
    output = env.step('{"tool_name": "echo_message", "arguments": {"message": "hé"}}')
    assert output["observations"] == [{"role": "user", "content": "hé"}]
    env.close()


if __name__ == "__main__":
    run(globals())
