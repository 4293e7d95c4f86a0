"""The random walk with exact spaces, in the execution that TEST_EXECUTION names."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app, truncated
from openenv_gym_server.environment import Execution

from tests.support.walks import SPACES, Moment, Walk

EXECUTION = os.environ.get("TEST_EXECUTION", "thread")


class Move(Action):
    move: int


class Place(Observation):
    where: list[int]
    speed: float
    rest: tuple[int, list[int]]


class WalkEnvironment(Environment[Move, Place, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline" if EXECUTION == "inline" else None
    seeded_stream = True
    spaces: ClassVar[dict[str, Any] | None] = SPACES

    def __init__(self) -> None:
        super().__init__()
        self._walk = Walk()

    def reset(self, seed: int | None = None, start: int = 0, misfit: bool = False) -> Place:
        return _place(self._walk.reset(seed, start), None, misfit=misfit)

    def step(self, action: Move) -> Place:
        moment = self._walk.step(action.move)
        return _place(moment, moment.reward)

    @property
    def state(self) -> State:
        return State()


class AsyncWalkEnvironment(WalkEnvironment):
    async def step_async(self, action: Move) -> Place:
        return self.step(action)


def _place(moment: Moment, reward: float | None, *, misfit: bool = False) -> Place:
    fields = {**moment.observation, "where": [1, 2, 3]} if misfit else moment.observation
    place = Place(**fields, reward=reward, done=moment.terminated, metadata=moment.info)
    return truncated(place) if moment.truncated else place


served = AsyncWalkEnvironment if EXECUTION == "async" else WalkEnvironment

app = create_app(served, Move, Place, env_name="walks")
