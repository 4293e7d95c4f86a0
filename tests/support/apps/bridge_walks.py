"""Random walks for the bridge's tests: of the same kind, but different in what they say of spaces and seeds."""

from __future__ import annotations

import random
from typing import Annotated

from openenv_gym_server import Action, Environment, Observation, State, create_app, truncated
from pydantic import Field


class Move(Action):
    direction: int = Field(ge=0, le=1)


class Place(Observation):
    position: int = Field(0, ge=-5, le=5)
    wind: Annotated[list[Annotated[float, Field(ge=-1, le=1)]], Field(min_length=2, max_length=2)] = Field(
        default_factory=lambda: [0.0, 0.0]
    )


class Walk(Environment[Move, Place, State]):
    """From a random place, blown by a random wind, until either end; cut off after ``limit`` steps."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    seed_supported = True

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random()
        self._state = State()
        self._position = 0
        self._limit = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, limit: int = 8) -> Place:
        self._random = self._generator(seed)
        self._state = State(episode_id=episode_id)
        self._position = self._random.randint(-3, 3)
        self._limit = limit
        return self._seen()

    def step(self, action: Move) -> Place:
        self._state.step_count += 1
        drift = self._random.choice((0, 0, -1, 1))
        self._position = max(-5, min(5, self._position + 2 * action.direction - 1 + drift))
        place = self._seen()
        place.reward = float(self._position)
        if abs(self._position) == 5:
            place.done = True
        elif self._state.step_count >= self._limit:
            return truncated(place)
        return place

    def _generator(self, seed: int | None) -> random.Random:
        return random.Random(seed)

    def _seen(self) -> Place:
        wind = [self._random.uniform(-1, 1) for _ in range(2)]
        return Place(position=self._position, wind=wind, metadata={"steps": self._state.step_count})

    @property
    def state(self) -> State:
        return self._state


class StreamWalk(Walk):
    """Continues its random stream from episode to episode, and declares its spaces."""

    seeded_stream = True
    info_keys = ["steps"]  # noqa: RUF012
    spaces = {  # noqa: RUF012
        "action": {"type": "Discrete", "n": 2},
        "observation": {
            "type": "Dict",
            "spaces": {
                "wind": {"type": "Box", "low": -1, "high": 1, "shape": [2], "dtype": "float32"},
                "position": {"type": "Discrete", "n": 11, "start": -5},
            },
        },
    }

    def _generator(self, seed: int | None) -> random.Random:
        return self._random if seed is None else random.Random(seed)


walk = create_app(Walk, Move, Place, env_name="walk")
stream = create_app(StreamWalk, Move, Place, env_name="stream walk")
