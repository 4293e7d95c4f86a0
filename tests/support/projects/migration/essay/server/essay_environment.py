"""The essay itself."""

from typing import Any
from uuid import uuid4

from openenv.core.env_server import Environment

try:
    from ..models import EssayAction, EssayObservation, EssayState  # noqa: TID252
    from ..rubrics import Marks  # noqa: TID252
except ImportError:
    from models import EssayAction, EssayObservation, EssayState
    from rubrics import Marks

TOPICS = ("rain", "bread", "stone")


class EssayEnvironment(Environment[EssayAction, EssayObservation, EssayState]):
    """An essay of a few sentences on a topic that the seed chooses."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, sentences: int = 3) -> None:
        super().__init__(rubric=Marks())
        self._length = self._left = sentences
        self._sentences: list[str] = []
        self._state = EssayState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, sentences: int | None = None, **kwargs: Any
    ) -> EssayObservation:
        """Takes a new sheet."""
        self._reset_rubric()
        self._left, self._sentences = sentences or self._length, []
        topic = TOPICS[(seed or 0) % len(TOPICS)]
        self._state = EssayState(episode_id=episode_id or str(uuid4()), step_count=0, topic=topic)
        return EssayObservation(sentences_left=self._left, metadata={"topic": topic})

    def step(self, action: EssayAction, timeout_s: float | None = None, **kwargs: Any) -> EssayObservation:
        """Adds a sentence and marks it."""
        self._sentences.append(action.sentence)
        self._left -= 1
        observation = EssayObservation(
            essay=" ".join(self._sentences),
            sentences_left=self._left,
            done=self._left == 0,
            metadata={"topic": self._state.topic},
        )
        observation.reward = self._apply_rubric(action, observation)
        self._note(action)
        return observation

    @property
    def state(self) -> EssayState:
        """The marks so far."""
        return self._state

    def _note(self, action: EssayAction) -> None:
        self._state.step_count += 1
        self._state.words += len(action.sentence.split())
        self._state.marks = {name: rubric.last_score for name, rubric in self.rubric.named_rubrics()}
        self._state.credit = self.rubric.whole.compute_step_rewards()
