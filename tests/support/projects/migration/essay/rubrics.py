"""How an essay is marked."""

from typing import Any

from openenv.core.rubrics import Gate, Sequential, WeightedSum
from openenv.core.rubrics.base import Rubric
from openenv.core.rubrics.trajectory import ExponentialDiscountingTrajectoryRubric


class OnTopic(Rubric):
    """Whether a sentence names the topic, which the observation's metadata has."""

    def forward(self, action: Any, observation: Any) -> float:
        """One or nothing."""
        return 1.0 if observation.metadata["topic"] in action.sentence.lower() else 0.0


class Brief(Rubric):
    """How much shorter than a limit a sentence is."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, action: Any, observation: Any) -> float:
        """A part of one."""
        return max(0.0, 1.0 - len(action.sentence.split()) / self.limit)


class Ending(ExponentialDiscountingTrajectoryRubric):
    """The whole essay, known at its end."""

    def score_trajectory(self, trajectory: list[Any]) -> float:
        """How many of its sentences differ."""
        return len({action.sentence for action, _ in trajectory}) / len(trajectory)


class Marks(Rubric):
    """The marks of a sentence and, at the end, of the essay."""

    def __init__(self) -> None:
        super().__init__()
        self.style = WeightedSum([Sequential(Gate(OnTopic()), Brief(10)), Brief(5)], weights=[0.5, 0.5])
        self.whole = Ending(gamma=0.5)

    def forward(self, action: Any, observation: Any) -> float:
        """Their sum."""
        return self.style(action, observation) + self.whole(action, observation)
