"""openenv's typed client, as its users write one; in openenv's own virtual environment."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import Action, Observation, State


class ValueAction(Action):
    """What is sent."""

    value: int


class ValuesObservation(Observation):
    """What comes back."""

    values: list[float]


class ValuesClient(EnvClient[ValueAction, ValuesObservation, State]):
    """The three methods that an author writes."""

    def _step_payload(self, action: ValueAction) -> dict[str, Any]:
        return {"value": action.value}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        observation = ValuesObservation(
            values=payload["observation"]["values"], reward=payload.get("reward"), done=payload.get("done", False)
        )
        return StepResult(observation=observation, reward=payload.get("reward"), done=payload.get("done", False))

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)

    def count(self, observation: Any) -> int:
        """How many steps an observation says were taken."""
        return int(observation.values[0])


class PicturesClient(ValuesClient):
    """The same with pictures, which become arrays."""

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        written = payload["observation"]["picture"]
        if isinstance(written, str):
            picture = np.frombuffer(base64.b64decode(written), np.uint8).reshape(84, 84, 4)
        else:
            picture = np.array(written, np.uint8)
        return StepResult(observation=picture, reward=payload.get("reward"), done=payload.get("done", False))

    def count(self, observation: Any) -> int:
        """Modulo 256."""
        return int(observation[0, 0, 0])
