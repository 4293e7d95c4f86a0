"""Stable-Baselines3 on remote environments: by the adapter of a vector, and by the ids alone."""

from __future__ import annotations

import subprocess
import sys
import warnings
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from openenv_gym_protocol.errors import ConfigurationError, NotOffered
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import openenv_gym
from openenv_gym.trainers.stable_baselines3 import StableBaselines3VecEnv
from tests.trainers.programs.running import raises, run

CARTPOLE = "openenv/CartPole-v1"
GRID = "openenv/GridWorld-v0"


def adapted(env_id: str = CARTPOLE, num_envs: int = 4, **keywords: Any) -> StableBaselines3VecEnv:
    """Remote lanes by the adapter."""
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, autoreset_mode="SameStep", **keywords)
    return StableBaselines3VecEnv(envs)


def assert_equal_play(ours: Any, theirs: Any, steps: int) -> tuple[int, int]:
    """Plays both with the same actions and compares all that they return; counts terminations and truncations."""
    rng = np.random.default_rng(3)
    terminations = truncations = 0
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(steps):
        actions = rng.integers(0, 2, ours.num_envs)
        seen, wanted = ours.step(actions), theirs.step(actions)
        for got, expected in zip(seen[:3], wanted[:3], strict=True):
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
        for got, expected, done in zip(seen[3], wanted[3], seen[2], strict=True):
            assert got["TimeLimit.truncated"] is bool(expected["TimeLimit.truncated"])
            assert ("terminal_observation" in got) == ("terminal_observation" in expected) == bool(done)
            if done:
                np.testing.assert_array_equal(got["terminal_observation"], expected["terminal_observation"])
                truncations += got["TimeLimit.truncated"]
                terminations += not got["TimeLimit.truncated"]
    return terminations, truncations


def check_every_step_and_terminal_observation_is_that_of_local_environments() -> None:
    for wire in ("vector", "standard"):
        ours = adapted(max_episode_steps=15, wire=wire)
        theirs = DummyVecEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=15)] * 4)
        for env in (ours, theirs):
            assert env.seed(7) == [7, 8, 9, 10]
        terminations, truncations = assert_equal_play(ours, theirs, 150)
        assert terminations > 5
        assert truncations > 5
        ours.close()


def check_seeds_are_used_once() -> None:
    envs = adapted()
    envs.seed(7)
    first = envs.reset()
    second = envs.reset()
    envs.seed(7)
    np.testing.assert_array_equal(envs.reset(), first)
    np.testing.assert_array_equal(envs.reset(), second)
    assert not np.array_equal(first, second)
    assert [info["seed_applied"] for info in envs.reset_infos] == [1] * 4
    envs.close()


def check_reset_options_reach_their_lanes_once() -> None:
    envs = adapted(GRID)
    envs.set_options({"slip": 0.5})
    envs.reset()
    assert envs.get_attr("slip") == [0.5] * 4
    envs.seed(5)
    envs.set_options([{"slip": 0.1}, {}, {"slip": 0.1}, {"slip": 0.3}])
    observations = envs.reset()
    assert envs.get_attr("slip") == [0.1, 0.0, 0.1, 0.3]
    assert all(info["distance"] > 0 for info in envs.reset_infos)
    envs.seed(5)
    again = envs.reset()
    assert envs.get_attr("slip") == [0.0] * 4
    for key in observations:
        np.testing.assert_array_equal(observations[key], again[key])
    envs.set_options([{}])
    with raises(ConfigurationError, "one for each of the 4 lanes"):
        envs.reset()
    envs.close()


def check_attributes_and_methods_of_some_lanes() -> None:
    envs = adapted()
    envs.reset()
    assert envs.get_attr("gravity", 1) == [9.8]
    envs.set_attr("gravity", 5.0, [0, 2])
    assert envs.get_attr("gravity") == [5.0, 9.8, 5.0, 9.8]
    envs.set_attr("gravity", 1.0)
    assert envs.env_method("gravity") == [1.0] * 4
    assert envs.get_attr("render_mode") == [None] * 4
    assert envs.env_is_wrapped(Monitor, [0, 1]) == [False, False]
    assert not envs.has_attr("compute_reward")
    with raises(NotOffered, "cannot call lanes [1] alone"):
        envs.env_method("gravity", indices=1)
    with raises(AttributeError, "gravity"):
        envs.get_attr("gravitation")
    envs.close()


def check_what_cannot_work_is_refused() -> None:
    for mode in ("NextStep", "Disabled"):
        with raises(ConfigurationError, "autoreset_mode='SameStep'"):
            StableBaselines3VecEnv(gymnasium.make_vec(CARTPOLE, num_envs=2, autoreset_mode=mode))
    with raises(ConfigurationError, "spaces='flat'"):
        adapted("openenv/Blackjack-v0")
    envs = adapted()
    with raises(Exception, "step_async"):
        envs.step_wait()
    envs.close()


def check_dict_observations() -> None:
    ours = adapted("openenv/Blackjack-v0", spaces="flat")
    ours.seed(3)
    first = ours.reset()
    assert {key: value.shape for key, value in first.items()} == {"0": (4,), "1": (4,), "2": (4,)}
    local = [gymnasium.make("Blackjack-v1") for _ in range(4)]
    wanted = [env.reset(seed=3 + lane)[0] for lane, env in enumerate(local)]
    ends = 0
    for count in range(30):
        actions = np.full(4, count % 2)
        _, rewards, dones, infos = ours.step(actions)
        for lane, env in enumerate(local):
            wanted[lane], reward, terminated, _, _ = env.step(actions[lane])
            assert (rewards[lane], dones[lane]) == (reward, terminated)
            if terminated:
                ended = {str(key): value for key, value in enumerate(wanted[lane])}
                assert infos[lane]["terminal_observation"] == ended
                env.reset()
                ends += 1
    assert ends > 20
    model = PPO("MultiInputPolicy", VecMonitor(ours), n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(64)
    ours.close()


class Reusing(gymnasium.Env[Any, Any]):
    """Returns the same array always, and ends both ways at once after three steps."""

    observation_space = spaces.Box(-100, 100, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.array = np.zeros(2, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.array[:] = 0
        return self.array, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.array += 1
        is_over = bool(self.array[0] == 3)
        return self.array, 0.1, is_over, is_over, {"array": self.array}


def check_what_was_returned_is_never_written_to() -> None:
    local = SyncVectorEnv([Reusing] * 2, copy=False, autoreset_mode=AutoresetMode.SAME_STEP)
    for envs in (StableBaselines3VecEnv(local), adapted(max_episode_steps=4)):
        kept = [envs.reset()]
        copies = deepcopy(kept)
        for _ in range(12):
            step = envs.step(np.zeros(envs.num_envs, int))
            kept.append(step)
            copies.append(deepcopy(step))
        np.testing.assert_equal(kept, copies)
        infos = [info for step in kept[1:] for info in step[3]]
        assert len({id(info) for info in infos}) == len(infos)
        envs.close()


def check_a_termination_goes_before_a_truncation() -> None:
    envs = StableBaselines3VecEnv(SyncVectorEnv([Reusing] * 2, autoreset_mode=AutoresetMode.SAME_STEP))
    envs.reset()
    flags = [
        (step[2][0], step[3][0]["TimeLimit.truncated"]) for step in (envs.step(np.zeros(2, int)) for _ in range(3))
    ]
    assert flags == [(False, False), (False, False), (True, False)]


def check_statistics_of_episodes() -> None:
    inner = RecordEpisodeStatistics(gymnasium.make_vec(CARTPOLE, num_envs=4, autoreset_mode="SameStep"))
    within = StableBaselines3VecEnv(inner)
    around = VecMonitor(adapted())
    alone = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))] * 4)
    found: list[list[tuple[float, int]]] = []
    for envs in (within, around, alone):
        envs.seed(11)
        envs.reset()
        episodes = []
        for count in range(100):
            for info in envs.step(np.full(4, count % 3 == 0, int))[3]:
                if "episode" in info:
                    episodes.append((float(info["episode"]["r"]), int(info["episode"]["l"])))
        found.append(episodes)
        envs.close()
    assert len(found[0]) > 20
    assert found[0] == found[1] == found[2]


def check_algorithms_run_and_their_episodes_are_counted() -> None:
    envs = VecMonitor(adapted())
    model = PPO("MlpPolicy", envs, n_steps=64, batch_size=64, n_epochs=1, seed=1, device="cpu")
    model.learn(512)
    assert len(model.ep_info_buffer) > 5
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=4)
    assert mean >= 1
    off_policy = DQN("MlpPolicy", VecNormalize(adapted()), learning_starts=50, buffer_size=1000, device="cpu")
    off_policy.learn(200)
    truncated = off_policy.replay_buffer.timeouts[: off_policy.replay_buffer.pos]
    assert not truncated.any()
    for each in (envs, off_policy.get_env()):
        each.close()


def check_pictures() -> None:
    envs = adapted(GRID, num_envs=2, render_mode="rgb_array")
    envs.reset()
    pictures = envs.get_images()
    assert all(picture.dtype == np.uint8 and picture.ndim == 3 for picture in pictures)
    tiled = envs.render()
    assert tiled.shape[0] * tiled.shape[1] == 2 * pictures[0].shape[0] * pictures[0].shape[1]
    envs.close()
    envs = adapted(GRID, num_envs=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert envs.get_images() == [None, None]
    assert "render_mode='rgb_array'" in str(told[-1].message)
    envs.close()


def check_ids_work_as_those_of_any_other_environment() -> None:
    check_env(gymnasium.make(CARTPOLE), skip_render_check=True)
    ours, theirs = (make_vec_env(env_id, n_envs=3, seed=5) for env_id in (CARTPOLE, "CartPole-v1"))
    assert len({id(env.unwrapped) for env in ours.envs}) == 3
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(60):
        actions = rng.integers(0, 2, 3)
        seen, wanted = ours.step(actions), theirs.step(actions)
        np.testing.assert_equal(seen[:3], wanted[:3])
        for got, expected in zip(seen[3], wanted[3], strict=True):
            assert expected.keys() <= got.keys()
    ours.close()


IN_WORKERS = """
import sys
import gymnasium
from stable_baselines3.common.vec_env import SubprocVecEnv

import openenv_gym

if __name__ == "__main__":
    envs = SubprocVecEnv([lambda: gymnasium.make("openenv_gym:openenv/CartPole-v1", disable_env_checker=True)] * 2)
    envs.reset()
    print([len(each) for each in envs.step([0, 1])[:3]], flush=True)
    try:
        envs.step([7, 7])
    except EOFError:
        print("EOFError", flush=True)
"""


def check_the_error_of_a_worker_process_can_be_read() -> None:
    done = subprocess.run([sys.executable, "-c", IN_WORKERS], capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.splitlines() == ["[2, 2, 2]", "EOFError"], done.stdout + done.stderr
    assert "InvalidAction: " in done.stderr, done.stderr


def unclosed() -> str:
    """Learns a little, and leaves."""
    envs = adapted()
    PPO("MlpPolicy", envs, n_steps=16, batch_size=64, n_epochs=1, device="cpu").learn(64)
    make_vec_env(CARTPOLE, n_envs=2).reset()
    server = envs.env.unwrapped.servers[0]
    assert server is not None
    return server


assert openenv_gym  # registers the ids

if __name__ == "__main__":
    run(globals())
