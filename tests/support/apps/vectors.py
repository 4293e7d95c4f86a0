"""Gymnasium's vectorised environments, each stepping all its lanes in one call."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_server import Action, Observation, create_app
from openenv_gym_server.environment import Execution
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

from tests.support.walks import SPACES, GymnasiumWalk

_CART_POLE = gymnasium.make("CartPole-v1")


class Push(Action):
    push: int


class Pole(Observation):
    pole: list[float]


class Move(Action):
    move: int


class Place(Observation):
    where: list[int]
    speed: float
    rest: tuple[int, list[int]]


class GymnasiumVector:
    """What is the same for all vectorised environments of Gymnasium."""

    vector: SyncVectorEnv
    num_envs: int
    autoreset: str

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        if len(lanes) < self.num_envs:
            mask = np.zeros(self.num_envs, bool)
            mask[lanes] = True
            options = {**options, "reset_mask": mask}
        by_lane: list[int | None] = [None] * self.num_envs
        for lane, seed in zip(lanes, seeds, strict=True):
            by_lane[lane] = seed
        observations, infos = self.vector.reset(seed=by_lane, options=options)
        self._over = np.zeros(self.num_envs, bool)
        return ResetArrays(observations=_of(observations, lanes), infos=_rows(infos, lanes))

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        observations, rewards, terminated, truncated, infos = self.vector.step(actions)
        resets = self._over if self.autoreset == "NextStep" else None
        self._over = terminated | truncated
        told = StepArrays(
            observations=observations,
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            infos=_rows(infos, lanes),
            reset_rows=resets,
        )
        if "final_obs" in infos:
            told.final_rows = np.flatnonzero(infos["_final_obs"]).tolist()
            finals = [infos["final_obs"][row] for row in told.final_rows]
            told.final_observations = _stacked(finals)
            told.final_infos = [row for row in _rows(infos["final_info"], told.final_rows) or ()]
        return told


class CartPoles(GymnasiumVector, VectorEnvironment[Push, Pole]):
    """CartPole as Gymnasium vectorises it itself."""

    seeded_stream = True
    autoreset_modes = ("NextStep", "SameStep")
    execution: ClassVar[Execution | None] = "inline" if os.environ.get("TEST_EXECUTION") == "inline" else None
    time_limits = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": space_to_data(_CART_POLE.action_space),
        "observation": space_to_data(_CART_POLE.observation_space),
    }

    def __init__(self, num_envs: int = 1, *, autoreset: str = "NextStep", max_episode_steps: int | None = None) -> None:
        super().__init__(num_envs, autoreset=autoreset, max_episode_steps=max_episode_steps)

        def make() -> gymnasium.Env[Any, Any]:
            return gymnasium.make("CartPole-v1", max_episode_steps=max_episode_steps or 500)

        self.vector = SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode(autoreset))


class Walks(GymnasiumVector, VectorEnvironment[Move, Place]):
    """The walks, which can be reset one by one."""

    seeded_stream = True
    autoreset_modes = ("Disabled", "NextStep", "SameStep")
    partial_resets = True
    spaces: ClassVar[dict[str, Any] | None] = SPACES
    render_modes = ("ansi",)
    remote_names = ("label", "broken")
    label = "walks"

    def __init__(self, num_envs: int = 1, *, autoreset: str = "NextStep", max_episode_steps: int | None = None) -> None:
        super().__init__(num_envs, autoreset=autoreset, max_episode_steps=max_episode_steps)
        self.vector = SyncVectorEnv([GymnasiumWalk] * num_envs, autoreset_mode=AutoresetMode(autoreset))
        self.broken = ""

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        told = super().step_arrays(actions, lanes)
        if (actions == 1).all():
            raise RuntimeError("all at once")
        if (actions[:2] == 1).all():
            told.rewards = np.where(np.arange(len(lanes)) == 1, np.nan, told.rewards)
        return told

    def render(self, mode: str) -> list[str]:
        return [f"lane {lane}" for lane in range(self.num_envs)]


def _of(value: Any, lanes: Any) -> Any:
    if isinstance(value, dict):
        return {key: _of(item, lanes) for key, item in value.items()}
    return tuple(_of(item, lanes) for item in value) if isinstance(value, tuple) else value[lanes]


def _stacked(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: _stacked([value[key] for value in values]) for key in values[0]}
    if isinstance(values[0], tuple):
        return tuple(_stacked([value[i] for value in values]) for i in range(len(values[0])))
    return np.stack(values)


def _rows(infos: dict[str, Any], lanes: Any) -> list[dict[str, Any]] | None:
    keys = [key for key in infos if not key.startswith(("_", "final"))]
    if not keys:
        return None
    return [{key: infos[key][lane] for key in keys if infos["_" + key][lane]} for lane in lanes]


cart_poles = create_app(CartPoles, Push, Pole, env_name="cart_poles")
walks = create_app(Walks, Move, Place, env_name="walks")
