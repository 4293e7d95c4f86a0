"""A random walk with exact spaces of several leaves, as an environment of the kit and as one of Gymnasium."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_protocol.vector.columns import Layout, layout_of

SPACES: dict[str, Any] = {
    "action": {"type": "Discrete", "n": 3, "start": -1},
    "observation": {
        "type": "Dict",
        "spaces": {
            "where": {"type": "Box", "low": -10, "high": 10, "shape": [2], "dtype": "int32"},
            "speed": {"type": "Box", "low": "-inf", "high": "inf", "shape": [], "dtype": "float32"},
            "rest": {
                "type": "Tuple",
                "spaces": [{"type": "Discrete", "n": 4, "start": 2}, {"type": "MultiBinary", "n": 3}],
            },
        },
    },
}


def layout(side: str) -> Layout:
    """How actions or observations travel."""
    found = layout_of(SPACES[side])
    assert found is not None
    return found


class Moment(NamedTuple):
    """What a step of the walk says."""

    observation: dict[str, Any]
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Walk:
    """The rules: plain Python, with a stream of random numbers that unseeded resets continue."""

    def __init__(self) -> None:
        self._random = random.Random()
        self._at = [0, 0]
        self._steps = 0

    def reset(self, seed: int | None, start: int = 0) -> Moment:
        if seed is not None:
            self._random = random.Random(seed)
        self._at = [start, self._random.randrange(-2, 3)]
        self._steps = 0
        return self._moment(0.0, False)

    def step(self, move: int) -> Moment:
        self._steps += 1
        self._at[0] += move
        self._at[1] += self._random.choice((-1, 0, 1))
        return self._moment(self._random.random() - 0.5, abs(self._at[0]) > 2)

    def _moment(self, reward: float, terminated: bool) -> Moment:
        x, y = self._at
        observation = {
            "where": [max(-10, min(10, x)), max(-10, min(10, y))],
            "speed": float(np.float32(self._random.random())),
            "rest": [2 + self._steps % 4, [self._steps % 2, 1, 0]],
        }
        truncated = self._steps >= 6 and not terminated
        return Moment(observation, reward, terminated, truncated, {"steps": self._steps})


class GymnasiumWalk(gymnasium.Env[Any, Any]):
    """The walk as Gymnasium has it."""

    def __init__(self) -> None:
        self.action_space = data_to_space(SPACES["action"])
        self.observation_space = data_to_space(SPACES["observation"])
        self._walk = Walk()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        moment = self._walk.reset(seed, **(options or {}))
        return as_values(moment.observation), moment.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        moment = self._walk.step(int(action))
        return as_values(moment.observation), moment.reward, moment.terminated, moment.truncated, moment.info


def as_values(observation: dict[str, Any]) -> dict[str, Any]:
    """An observation as Gymnasium's space has it."""
    which, bits = observation["rest"]
    return {
        "where": np.array(observation["where"], np.int32),
        "speed": np.array(observation["speed"], np.float32),
        "rest": (np.int64(which), np.array(bits, np.int8)),
    }
