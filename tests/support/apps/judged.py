"""An environment whose rubric is made of plain parts and a judge that is asked over HTTP, in any execution."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from openenv_gym_server import (
    Action,
    CallToolAction,
    CallToolObservation,
    Environment,
    MCPEnvironment,
    Observation,
    State,
    create_app,
    truncated,
)
from openenv_gym_server.environment import Execution
from openenv_gym_server.rewards import (
    ExponentialDiscountingTrajectoryRubric,
    Gate,
    LLMJudge,
    OpenAIClient,
    Rubric,
    Sequential,
    WeightedSum,
)


class Say(Action):
    text: str = ""


class Heard(Observation):
    text: str = ""


class Short(Rubric):
    def forward(self, action: Say, observation: Heard) -> float:
        return 1.0 if len(action.text) < 20 else 0.0


class Rewarded(Rubric):
    def __init__(self) -> None:
        super().__init__()
        client = OpenAIClient(os.environ["TEST_JUDGE"], model="judge", timeout_s=20, retries=0)
        self.quality = Sequential(Gate(Short()), LLMJudge("{action.text}", client))
        self.total = WeightedSum([self.quality, Short()], [0.5, 0.5])

    def forward(self, action: Say, observation: Heard) -> Any:
        return self.total(action, observation)


class Outcome(ExponentialDiscountingTrajectoryRubric):
    def score_trajectory(self, trajectory: list[tuple[Any, Any]]) -> float:
        return float(len(trajectory))


class Judged(Environment[Say, Heard, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "thread"

    def __init__(self, rubric: Rubric | None = None) -> None:
        super().__init__(rubric=rubric or Rewarded())
        self._state = State()

    def reset(self, seed: int | None = None) -> Heard:
        self._reset_rubric()
        self._state = State()
        return Heard()

    def step(self, action: Say) -> Heard:
        observation = self._heard(action)
        observation.reward = self._apply_rubric(action, observation)
        return observation

    @property
    def state(self) -> State:
        return self._state

    def _heard(self, action: Say) -> Heard:
        self._state.step_count += 1
        heard = Heard(text=action.text, metadata={"steps": self._state.step_count})
        return truncated(heard) if self._state.step_count == 3 else heard


class AsyncJudged(Judged):
    execution: ClassVar[Execution | None] = "async"

    async def step(self, action: Say) -> Heard:  # type: ignore[override]
        observation = self._heard(action)
        observation.reward = await self._apply_rubric_async(action, observation)
        return observation


class Blocking(Judged):
    """Waits for its judge where an event loop runs."""

    execution: ClassVar[Execution | None] = "async"


class Right(Rubric):
    def forward(self, action: CallToolAction, observation: CallToolObservation) -> float:
        return 0.625 if observation.result["data"] == 3 else 0.0


class Tools(MCPEnvironment):
    """Rewards tool calls."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__([self.add], rubric=Gate(Right(), threshold=0.5))

    def add(self, a: int, b: int) -> int:
        return a + b


def outcome() -> Judged:
    """The same with the reward of an episode's outcome."""
    return Judged(Outcome(gamma=0.5))


plain = create_app(Judged, Say, Heard, env_name="judged")
awaiting = create_app(AsyncJudged, Say, Heard, env_name="judged")
blocking = create_app(Blocking, Say, Heard, env_name="judged")
tools = create_app(Tools, CallToolAction, CallToolObservation, env_name="tools")
outcomes = create_app(outcome, Say, Heard, env_name="judged")
