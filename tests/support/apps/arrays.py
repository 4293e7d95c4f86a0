"""numpy arrays as fields of action and observation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from openenv_gym_server import Action, Environment, Observation, State, create_app


class Force(Action):
    force: NDArray[np.float32]


class Position(Observation):
    position: NDArray[np.float32]


class ArrayEnvironment(Environment[Force, Position, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._position: NDArray[np.float32] = np.zeros(2, np.float32)

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Position:
        self._position = np.zeros(2, np.float32)
        return Position(position=self._position)

    def step(self, action: Force) -> Position:
        assert action.force.dtype == np.float32
        self._position = self._position + action.force
        return Position(position=self._position, reward=np.float32(0.5), done=np.bool_(False))  # type: ignore[arg-type]

    @property
    def state(self) -> State:
        return State()


app = create_app(ArrayEnvironment, Force, Position, env_name="arrays")
