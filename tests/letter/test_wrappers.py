"""Gymnasium's own wrappers around remote environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import identical, identical_steps
from tests.letter.requirements import requirement
from tests.support import drawn as local
from tests.support.servers import RunningServer

MakeMany = Callable[..., RemoteVectorEnv]
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED

SINGLE: dict[str, Callable[[Any], Any]] = {
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 2),
    "OrderEnforcing": wrappers.OrderEnforcing,
    "PassiveEnvChecker": wrappers.PassiveEnvChecker,
    "ClipReward": lambda env: wrappers.ClipReward(env, -1, 1),
    "TransformReward": lambda env: wrappers.TransformReward(env, lambda reward: float(reward) / 2),
    "NormalizeReward": wrappers.NormalizeReward,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 2),
    "TimeAwareObservation": lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 4)),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(env, np.float32(0), np.float32(1)),
    "ReshapeObservation": lambda env: wrappers.ReshapeObservation(env, (3, 1)),
    "ClipAction": wrappers.ClipAction,
    "RescaleAction": lambda env: wrappers.RescaleAction(env, np.float32(-2), np.float32(2)),
    "Autoreset": wrappers.Autoreset,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
}


def played(env: Any, steps: int = 12) -> Iterator[tuple[Any, ...]]:
    """What an environment returns, with resets as they fall due; without the time that statistics measure."""
    yield env.reset(seed=4)
    env.action_space.seed(4)
    for _ in range(steps):
        step = env.step(env.action_space.sample())
        yield _without_times(step)
        if (step[2] or step[3]) and not isinstance(env, wrappers.Autoreset):
            yield env.reset()


def _without_times(step: tuple[Any, ...]) -> tuple[Any, ...]:
    step[-1].get("episode", {}).pop("t", None)
    return step


@requirement("wrappers/single")
@pytest.mark.parametrize("name", SINGLE)
def test_a_wrapped_environment_is_the_wrapped_local_one(
    name: str, drawn: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    ours = SINGLE[name](make(f"{drawn.base_url}/box-float32"))
    theirs = SINGLE[name](local.Drawn("box-float32"))
    assert ours.observation_space == theirs.observation_space
    for found, expected in zip(played(ours), played(theirs), strict=True):
        assert identical_steps(found, expected)


@requirement("wrappers/single")
def test_wrappers_of_dicts_work(drawn: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    def wrapped(env: Any) -> Any:
        return wrappers.FlattenObservation(wrappers.FilterObservation(env, ["mode", "where"]))

    ours, theirs = wrapped(make(f"{drawn.base_url}/dict")), wrapped(local.Drawn("dict"))
    assert ours.observation_space == theirs.observation_space
    assert identical_steps(ours.reset(seed=1), theirs.reset(seed=1))


VECTOR: dict[str, tuple[Callable[[Any], Any], set[AutoresetMode]]] = {
    "RecordEpisodeStatistics": (vector_wrappers.RecordEpisodeStatistics, set(AutoresetMode)),
    "DictInfoToList": (vector_wrappers.DictInfoToList, set(AutoresetMode)),
    "NormalizeReward": (vector_wrappers.NormalizeReward, set(AutoresetMode)),
    "ClipReward": (lambda envs: vector_wrappers.ClipReward(envs, -1, 1), set(AutoresetMode)),
    "TransformReward": (
        lambda envs: vector_wrappers.TransformReward(envs, lambda rewards: rewards / 2),
        set(AutoresetMode),
    ),
    "NormalizeObservation": (vector_wrappers.NormalizeObservation, {NEXT_STEP}),
    "FlattenObservation": (vector_wrappers.FlattenObservation, {NEXT_STEP, DISABLED}),
    "RescaleObservation": (lambda envs: vector_wrappers.RescaleObservation(envs, 0, 1), {NEXT_STEP, DISABLED}),
    "ReshapeObservation": (lambda envs: vector_wrappers.ReshapeObservation(envs, (3, 1)), {NEXT_STEP, DISABLED}),
    "ClipAction": (vector_wrappers.ClipAction, set(AutoresetMode)),
}
"""Each wrapper, and the modes in which it works on Gymnasium's own vector environments."""


def outcome(envs: Any, wrap: Callable[[Any], Any], mode: AutoresetMode) -> Any:
    """What a wrapped vector environment returns, or None where the wrapper refuses it."""
    try:
        wrapped = wrap(envs)
        returned = [wrapped.reset(seed=3)]
        envs.action_space.seed(3)
        for _ in range(10):
            step = wrapped.step(envs.action_space.sample())
            returned.append(step)
            over = step[2] | step[3]
            if mode is DISABLED and over.any():
                returned.append(wrapped.reset(options={"reset_mask": over.copy()}))
    except (ValueError, AssertionError):
        return None
    return returned


@requirement("wrappers/vector")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", VECTOR)
def test_a_wrapped_vector_is_gymnasiums_own_wrapped(
    name: str, mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany
) -> None:
    wrap, works_in = VECTOR[name]
    ours = outcome(make_many(f"{drawn.base_url}/box-float32", num_envs=3, autoreset_mode=mode), wrap, mode)
    here = SyncVectorEnv([lambda: local.Drawn("box-float32")] * 3, autoreset_mode=mode)
    theirs = outcome(here, wrap, mode)
    here.close()
    if mode not in works_in:
        assert ours is None
        assert theirs is None
        return
    assert len(ours) == len(theirs)
    for number, (found, expected) in enumerate(zip(ours, theirs, strict=True)):
        # Gymnasium's own lose the mask in a partial reset, so the running averages differ after it.
        if name == "NormalizeReward" and mode is DISABLED and number > 3:
            break
        assert identical(found[:-1], expected[:-1])


@requirement("wrappers/vector")
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_episode_statistics_are_gymnasiums_own(mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany) -> None:
    url = f"{drawn.base_url}/discrete"
    ours = vector_wrappers.RecordEpisodeStatistics(make_many(url, num_envs=3, autoreset_mode=mode))
    here = SyncVectorEnv([lambda: local.Drawn("discrete")] * 3, autoreset_mode=mode)
    theirs = vector_wrappers.RecordEpisodeStatistics(here)
    ours.reset(seed=1)
    theirs.reset(seed=1)
    episodes = 0
    for _ in range(15):
        found, expected = (each.step(np.array([1, 2, 3]))[4] for each in (ours, theirs))
        assert ("episode" in found) == ("episode" in expected)
        if "episode" in expected:
            episodes += 1
            assert found["_episode"].tolist() == expected["_episode"].tolist()
            assert all(identical(found["episode"][key], expected["episode"][key]) for key in ("r", "l"))
    here.close()
    assert episodes > 2


@requirement("wrappers/vector")
def test_every_lane_has_an_info_of_its_own_when_they_are_listed(drawn: RunningServer, make_many: MakeMany) -> None:
    envs = vector_wrappers.DictInfoToList(make_many(f"{drawn.base_url}/discrete", num_envs=3))
    _, infos = envs.reset(seed=1)
    assert [set(info) for info in infos] == [{"steps", "share", "place", "seed_applied", "reward_missing"}] * 3
    envs.step(np.array([0, 0, 0]))
    # In the next step some lane may start anew.
    assert [info["steps"] for info in envs.step(np.array([0, 0, 0]))[4]] == [2, 2, 2]
