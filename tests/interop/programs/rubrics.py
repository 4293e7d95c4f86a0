"""Environments that are rewarded by rubrics, plain and awaiting, and by a model behind the endpoint TEST_JUDGE."""

from __future__ import annotations

import os
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app
from openenv.core.llm_client import OpenAIClient
from openenv.core.rubrics import (
    ExponentialDiscountingTrajectoryRubric,
    Gate,
    LLMJudge,
    Rubric,
    RubricDict,
    RubricList,
    Sequential,
    TrajectoryRubric,
    WeightedSum,
)


class Say(Action):
    """What is said, in a game."""

    text: str
    game: str = "short"


class Heard(Observation):
    """What was heard."""

    text: str = ""
    game: str = ""


class Shorter(Rubric):
    """Whether a text is shorter than a limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, action: Say, observation: Heard) -> float:
        """One or nothing."""
        return 1.0 if len(action.text) < self.limit else 0.0


class Vowels(Rubric):
    """How much of a text are vowels."""

    def forward(self, action: Say, observation: Heard) -> float:
        """A part of one."""
        return sum(letter in "aeiou" for letter in action.text) / max(len(action.text), 1)


class Games(Rubric):
    """Another rubric for each game, and hooks that count."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.games = RubricDict({"short": Sequential(Gate(Shorter(9)), Vowels()), "free": Vowels()})
        self.extra = RubricList([Shorter(3), Shorter(6)])
        self.sum = WeightedSum([Gate(Vowels(), threshold=0.5), Shorter(12)], weights=[0.75, 0.25])
        self.register_forward_hook(self.count)
        self.register_forward_pre_hook(lambda *_: None)

    def count(self, rubric: Rubric, action: Say, observation: Heard, result: float) -> None:
        """Counts the calls."""
        self.calls += 1

    def forward(self, action: Say, observation: Heard) -> float:
        """The game's rubric, the list's, and the sum."""
        some = sum(each(action, observation) for each in self.extra) / len(self.extra)
        return self.games[action.game](action, observation) + some + self.sum(action, observation)


class Outcome(ExponentialDiscountingTrajectoryRubric):
    """The length of an episode's last text."""

    def score_trajectory(self, trajectory: list[Any]) -> float:
        """Known at the end."""
        return float(len(trajectory[-1][0].text))


class Shares(TrajectoryRubric):
    """The same, shared by all steps."""

    def score_trajectory(self, trajectory: list[Any]) -> float:
        """Known at the end."""
        return float(len(trajectory[-1][0].text))

    def compute_step_rewards(self) -> list[float]:
        """Equal shares."""
        return [self.score_trajectory(self._trajectory) / len(self._trajectory)] * len(self._trajectory)


class Talk(Environment[Say, Heard, State]):
    """Hears what is said until it is a full stop; its state tells of its rubric."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, rubric: Rubric) -> None:
        super().__init__(rubric=rubric)
        self._steps = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        """Begins anew."""
        self._reset_rubric()
        self._steps = 0
        return Heard()

    def step(self, action: Say, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Hears."""
        heard = self._heard(action)
        heard.reward = self._apply_rubric(action, heard)
        return heard

    def _heard(self, action: Say) -> Heard:
        self._steps += 1
        return Heard(text=action.text, game=action.game, done=action.text.endswith("."))

    @property
    def state(self) -> State:
        """What is known of the rubric."""
        credit = getattr(self.rubric, "compute_step_rewards", list)()
        told = {
            "names": [name for name, _ in self.rubric.named_rubrics()],
            "children": [name for name, _ in self.rubric.named_children()],
            "score": self.rubric.last_score,
            "credit": credit,
            "calls": getattr(self.rubric, "calls", 0),
        }
        return State(episode_id="talk", step_count=self._steps, **told)


class Judged(Talk):
    """Is judged by a model, and awaits it."""

    async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        """Begins anew."""
        await self._reset_rubric_async()
        self._steps = 0
        return Heard()

    async def step_async(self, action: Say, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Hears."""
        heard = self._heard(action)
        heard.reward = await self._apply_rubric_async(action, heard)
        return heard


def judge() -> Judged:
    """A judge behind a gate, beside a plain rubric."""
    client = OpenAIClient(os.environ["TEST_JUDGE"], None, "judge", api_key="key", system_prompt="Judge.")
    model = LLMJudge(
        "Judge {action.text} in {{this}} way: {observation.game}", client, score_pattern=r"Score: ([\d.]+)"
    )
    return Judged(WeightedSum([Sequential(Gate(Shorter(40)), model), Vowels()], weights=[0.5, 0.5]))


games_app = create_app(lambda: Talk(Games()), Say, Heard, env_name="games", max_concurrent_envs=8)
outcome_app = create_app(lambda: Talk(Outcome(gamma=0.5)), Say, Heard, env_name="outcome", max_concurrent_envs=8)
shares_app = create_app(
    lambda: Talk(Shares(intermediate_reward=0.25)), Say, Heard, env_name="shares", max_concurrent_envs=8
)
judged_app = create_app(judge, Say, Heard, env_name="judged", max_concurrent_envs=8)
