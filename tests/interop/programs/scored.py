"""An environment with openenv's own parts: a rubric, a transform, metadata of its own, tasks in its state."""

from __future__ import annotations

import inspect
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app
from openenv.core.env_server.interfaces import Transform
from openenv.core.env_server.types import EnvironmentMetadata
from openenv.core.rubrics import Rubric
from pydantic import Field


class GuessAction(Action):
    """A guess."""

    number: int


class GuessObservation(Observation):
    """How far it was off."""

    off: int = 0


class GuessState(State):
    """What is looked for, and every guess."""

    target: int = 0
    guesses: list[int] = Field(default_factory=list)


class Closeness(Rubric):
    """1 for the right number, less the further it is off."""

    def forward(self, action: Any, observation: Any) -> float:
        """Scores one step."""
        return 1.0 / (1 + abs(observation.off))


class Signed(Transform):
    """Writes into the metadata that it ran."""

    def __call__(self, observation: Any) -> Any:
        """Adds its mark."""
        observation.metadata = {**observation.metadata, "transformed": True}
        return observation


class GuessEnvironment(Environment):
    """Find the number that the seed chose."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(transform=Signed(), rubric=Closeness())
        self._state = GuessState()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        """Chooses a number."""
        self._reset_rubric()
        self._state = GuessState(episode_id=episode_id, target=(seed or 0) % 10)
        return GuessObservation()

    def step(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Is never called: the async form is overridden."""
        raise NotImplementedError

    async def step_async(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Scores a guess by the rubric."""
        self._state.step_count += 1
        self._state.guesses.append(action.number)
        observation = GuessObservation(off=action.number - self._state.target)
        observation.reward = await self._apply_rubric_async(action, observation)
        observation.done = observation.off == 0
        return self._apply_transform(observation)

    @property
    def state(self) -> Any:
        """Where the game stands."""
        return self._state

    def get_metadata(self) -> Any:
        """Metadata of its own."""
        return EnvironmentMetadata(name="guess", description="Find the number", version="2.1", author="somebody")


_options = {"state_cls": GuessState, "max_concurrent_envs": 16, "env_name": "guess"}
_known = inspect.signature(create_app).parameters
scored_app = create_app(
    GuessEnvironment, GuessAction, GuessObservation, **{k: v for k, v in _options.items() if k in _known}
)
