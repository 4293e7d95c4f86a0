"""Gymnasium environments at the edges of what a server can carry, registered as ``odd/...`` by importing this."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

PIXELS = spaces.Box(0, 255, (4, 5, 3), np.uint8)
NUMBERS = spaces.Box(-np.inf, np.inf, (2,), np.float64)
NESTED = spaces.Dict(
    {
        "picture": PIXELS,
        "pair": spaces.Tuple((spaces.Discrete(3, start=-1), spaces.MultiBinary(3))),
        "rows": spaces.Sequence(spaces.Box(0, 1, (2,)), stack=True),
        "name": spaces.Text(8),
    }
)
CHOICES = spaces.Dict(
    {
        "choice": spaces.OneOf((spaces.Discrete(2), spaces.Box(-1, 1, (2,)))),
        "many": spaces.MultiDiscrete([2, 3], start=[1, 0]),
        "force": spaces.Box(-1, 1, ()),
        "list": spaces.Sequence(spaces.Discrete(4)),
    }
)


class Sampling(gymnasium.Env[Any, Any]):
    """Its observations are samples of its space; it remembers its last action."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.last_action: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self._sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.last_action = action
        return self._sample(), 0.5, False, False, {}

    def _sample(self) -> Any:
        sample = self.observation_space.sample()
        if isinstance(sample, dict):
            # Before Gymnasium 1.4 a text's sample depends on the process.
            sample["name"] = str(self.np_random.integers(10**6))
        return sample


def pictures() -> Sampling:
    """An environment of one picture."""
    return Sampling(PIXELS, spaces.Discrete(2))


def nested() -> Sampling:
    """An environment of many spaces."""
    return Sampling(NESTED, CHOICES)


class Scripted(gymnasium.Env[Any, Any]):
    """Returns what its keywords say."""

    observation_space: spaces.Space[Any] = NUMBERS
    action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, wide: bool = False, number: float = 0.0, reward: float = 0.0, ends: bool = False) -> None:
        if wide:
            self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        if number < 0:
            raise ValueError("a number below zero")
        self.number, self.reward, self.ends = number, reward, ends

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        info: dict[Any, Any] = {"thing": object(), 3: 1, "truncated": True, "deep": {"array": np.arange(3)}}
        return np.zeros(2), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward: Any = np.float32(self.reward)
        return np.array([self.number, np.inf]), reward, self.ends, self.ends, {"none": None}


def nan_reward() -> Scripted:
    """An environment whose reward is no number."""
    return Scripted(reward=float("nan"))


def register() -> None:
    """Registers the ids, as often as it is called."""
    entry_points: dict[str, Any] = {
        "Pictures": pictures,
        "Nested": nested,
        "Scripted": Scripted,
        "NanReward": nan_reward,
    }
    for name, entry_point in entry_points.items():
        if f"odd/{name}-v0" not in gymnasium.registry:
            gymnasium.register(f"odd/{name}-v0", entry_point=entry_point, max_episode_steps=3)


register()
