"""What is said between who answers and who asks."""

from __future__ import annotations

from typing import Annotated, Any

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BeforeValidator, Field, WithJsonSchema


def _as_text(value: Any) -> Any:
    """A number as its text, because models write JSON numbers where a text is asked for."""
    return str(value) if isinstance(value, int | float) else value


class ReasoningGymAction(Action):
    """One answer."""

    answer: Annotated[str | None, BeforeValidator(_as_text), WithJsonSchema({"type": "string"})] = Field(
        description="The answer alone, as the question asks for it; none, or one that is too long, scores 0"
    )


class ReasoningGymObservation(Observation):
    """A question; after the answer, what it was worth too."""

    question: str = Field(description="The question")
    score: float | None = Field(default=None, description="What the answer was worth, from 0 to 1")
    correct_answer: str | None = Field(
        default=None, description="After the answer: the dataset's own, where it has one"
    )
    dataset_metadata: dict[str, Any] | None = Field(
        default=None, description="After the answer: what the dataset tells of the question, its difficulty for one"
    )


class ReasoningGymState(State):
    """Where the question comes from."""

    dataset_name: str = Field(default="", description="The dataset, or composite")
    dataset_config: dict[str, Any] = Field(
        default_factory=dict, description="Its configuration, where it is no default"
    )
    dataset_specs: list[dict[str, Any]] = Field(default_factory=list, description="What a composite is made of")
    dataset_seed: int = Field(default=-1, description="The seed that the library was given; -1 before a reset")
    size: int = Field(default=0, description="The questions of the dataset")
    split: str = Field(default="", description="train, validation or test, where a split was asked for")
    index: int = Field(default=-1, description="The question's place in the dataset; -1 before a reset")
