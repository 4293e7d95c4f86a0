"""The client of the walk."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import NumberLineAction, NumberLineObservation  # noqa: TID252


class NumberLineEnv(EnvClient[NumberLineAction, NumberLineObservation, State]):
    """Writes actions and reads results, as the author of an environment does it by hand."""

    def _step_payload(self, action: NumberLineAction) -> dict[str, Any]:
        return {"move": action.move}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[NumberLineObservation]:
        seen = payload.get("observation", {})
        observation = NumberLineObservation(
            place=seen.get("place", 0),
            distance=seen.get("distance", 0),
            done=payload.get("done", False),
            reward=payload.get("reward"),
            metadata=payload.get("metadata", seen.get("metadata", {})),
        )
        return StepResult(
            observation=observation,
            reward=payload.get("reward"),
            done=payload.get("done", False),
            metadata=payload.get("metadata"),
        )

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(episode_id=payload.get("episode_id"), step_count=payload.get("step_count", 0))
