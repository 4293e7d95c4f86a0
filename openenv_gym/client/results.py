"""What a reset or step returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from openenv_gym_protocol.messages import ObservationReply, Reply

ObsT = TypeVar("ObsT")


@dataclass
class StepResult(Generic[ObsT]):
    """The result of one reset or step.

    Attributes:
        observation: What the agent sees now.
        reward: The reward of the step, as the server sent it; None when it sent none.
        done: Whether the episode has ended.
        metadata: What the server told beside the observation; None when it told nothing.
    """

    observation: ObsT
    reward: float | None = None
    done: bool = False
    metadata: dict[str, Any] | None = None


def payload_of(reply: Reply) -> dict[str, Any]:
    """A reply's ``data`` as it stood on the wire."""
    return cast(ObservationReply, reply).data.fields
