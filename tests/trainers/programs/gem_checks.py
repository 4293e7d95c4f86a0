"""Remote environments as GEM makes, steps and spawns its own."""

from __future__ import annotations

import gc
import json
from typing import Any

import gem
import gymnasium
from openenv_gym_protocol.errors import NotOffered

from openenv_gym.trainers.gem import RemoteEnv, register
from tests.support.servers import ROOT, running_server
from tests.support.sessions import wait_for_sessions
from tests.trainers.programs.running import raises, run


def blackjack() -> Any:
    return running_server("server.app:app", cwd=ROOT / "envs" / "blackjack")


def check_an_episode_is_that_of_its_seed() -> None:
    with blackjack() as server:
        register("openenv:Blackjack", server.base_url)
        env = gem.make("openenv:Blackjack")
        local = gymnasium.make("Blackjack-v1", sab=True)
        for seed in range(6):
            text, info = env.reset(seed=seed)
            hand, _ = local.reset(seed=seed)
            assert "JSON object" in info["suffix"]
            over = False
            while not over:
                assert json.loads(text)["hand"] == [int(each) for each in hand]
                action = int(hand[0] < 17)
                hand, paid, over, _, _ = local.step(action)
                text, reward, terminated, truncated, _ = env.step(rf"I think \boxed{{{action}}}")
                assert (reward, terminated, truncated) == (paid, over, False)
        env.close()
        wait_for_sessions(server, 0)


def check_what_is_no_action_is_told_and_turns_end() -> None:
    with blackjack() as server:
        env = RemoteEnv(server.base_url, max_turns=2)
        env.reset(seed=1)
        text, reward, terminated, truncated, info = env.step("hm")
        assert text.startswith("Error: ")
        assert (reward, terminated, truncated, info["reward_missing"]) == (0.0, False, False, True)
        assert env.step("hm")[2:4] == (False, True)


def check_a_spawned_environment_stands_where_the_other_does() -> None:
    with blackjack() as server:
        env = RemoteEnv(server.base_url)
        env.reset(seed=5)
        env.step("oops")
        first = env.step("1")
        twin = env.spawn(same_state=True)
        if not first[2]:
            assert twin.step("0") == env.step("0")
        other = env.spawn()
        assert other.reset(seed=5) == twin.reset(seed=5)
        env.reset()
        with raises(NotOffered, "began with a seed"):
            env.spawn(same_state=True)
        env = twin = other = None
        gc.collect()
        wait_for_sessions(server, 0)


def check_random_actions_are_actions() -> None:
    with blackjack() as server:
        env = RemoteEnv(server.base_url)
        with raises(NotOffered, "after the first reset"):
            env.sample_random_action()
        env.reset(seed=1)
        drawn = {env.sample_random_action() for _ in range(30)}
        assert drawn == {'{"action": 0}', '{"action": 1}'}
        env.close()


def check_a_vector_steps_some_of_its_environments() -> None:
    with blackjack() as server:
        register("openenv:Table", server.base_url)
        for async_mode in (False, True):
            envs = gem.make_vec(["openenv:Table"] * 3, async_mode=async_mode)
            texts, _ = envs.reset(seed=[1, 1, 2])
            assert texts[0] == texts[1] != texts[2]
            texts, rewards, terminations, *_ = envs.step({1: "0"})
            assert (len(texts), rewards.tolist(), terminations.tolist()) == (1, [1.0], [True])
            texts, rewards, *_ = envs.step(["0", "1", "1"])
            assert (len(texts), float(rewards[0])) == (3, 1.0)
            for env in envs.envs:
                env.close()
        wait_for_sessions(server, 0)


def check_an_environment_of_a_vector_has_a_seed_of_its_own() -> None:
    with blackjack() as server:
        register("openenv:Seeded", server.base_url)
        seeded = gem.make_vec(["openenv:Seeded"] * 2, seed=7).reset()[0]
        env = RemoteEnv(server.base_url)
        assert seeded == [env.reset(seed=7)[0], env.reset(seed=8)[0]]


if __name__ == "__main__":
    run(globals())
