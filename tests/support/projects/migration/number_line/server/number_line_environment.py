"""The walk itself."""

from random import Random
from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

try:
    from ..models import NumberLineAction, NumberLineObservation  # noqa: TID252
except ImportError:
    from models import NumberLineAction, NumberLineObservation


class NumberLineEnvironment(Environment):
    """A walker on the whole numbers, who is to stand on a goal that the seed chooses."""

    SUPPORTS_CONCURRENT_SESSIONS: bool = True

    def __init__(self) -> None:
        self._state = State(episode_id=str(uuid4()), step_count=0)
        self._place = 0
        self._goal = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, start: int = 0, **kwargs: Any
    ) -> NumberLineObservation:
        """Puts the walker at the start and chooses a goal."""
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        self._place, self._goal = start, start + Random(seed).choice((-4, -3, 3, 4))
        return self._seen(reward=0.0)

    def step(self, action: NumberLineAction) -> NumberLineObservation:  # type: ignore[override]
        """Walks; to run off the line is an error of the environment."""
        self._state.step_count += 1
        if abs(self._place + action.move) > 50:
            raise ValueError("The line ends at 50.")
        before = abs(self._goal - self._place)
        self._place += action.move
        return self._seen(reward=float(before - abs(self._goal - self._place)), metadata={"moved": action.move})

    @property
    def state(self) -> State:
        """The episode's name and its steps."""
        return self._state

    def _seen(self, **outcome: Any) -> NumberLineObservation:
        distance = abs(self._goal - self._place)
        return NumberLineObservation(place=self._place, distance=distance, done=distance == 0, **outcome)
