"""The environment of most rows: an integer in, four floats out. One class, served by our kit and by openenv's."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from benchmarks.apps.kit import EXECUTION, MAX_SESSIONS, Action, Environment, Observation, State, create_app

SPACES = {
    "action": {"type": "Discrete", "n": 2, "start": 0},
    "observation": {"type": "Box", "low": "-inf", "high": "inf", "shape": [4], "dtype": "float32"},
}


class ValueAction(Action):
    """What is sent."""

    value: int = Field(ge=0, le=1)


class ValuesObservation(Observation):
    """What comes back: first the number of steps since the reset, so that every client can be checked."""

    values: Annotated[list[float], Field(min_length=4, max_length=4)]


class ValuesEnvironment(Environment[ValueAction, ValuesObservation, State]):
    """Does nothing that takes time, so that what is left is the way there and back."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = EXECUTION
    spaces = SPACES

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> ValuesObservation:
        """Goes back to zero."""
        self._count = 0
        return ValuesObservation(values=[0.0, 0.0, 0.0, 0.0])

    def step(self, action: ValueAction, timeout_s: float | None = None, **kwargs: Any) -> ValuesObservation:
        """Counts."""
        self._count += 1
        return ValuesObservation(values=[float(self._count), float(action.value), 0.25, -0.5], reward=1.0, done=False)

    @property
    def state(self) -> State:
        """How many steps were taken."""
        return State(step_count=self._count)


app = create_app(ValuesEnvironment, ValueAction, ValuesObservation, env_name="values", max_concurrent_envs=MAX_SESSIONS)
