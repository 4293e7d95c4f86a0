"""A sentence, the essay so far, and what is known of it."""

from openenv.core.env_server import Action, Observation, State


class EssayAction(Action):
    """A sentence."""

    sentence: str


class EssayObservation(Observation):
    """The essay so far."""

    essay: str = ""
    sentences_left: int = 0


class EssayState(State):
    """What the marker sees."""

    topic: str = ""
    words: int = 0
    marks: dict[str, float | None] = {}  # noqa: RUF012  (pydantic copies it)
    credit: list[float] = []  # noqa: RUF012
