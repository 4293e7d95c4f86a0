"""The client of the essay."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from .models import EssayAction, EssayObservation, EssayState  # noqa: TID252


class EssayEnv(EnvClient[EssayAction, EssayObservation, EssayState]):
    """Sends sentences."""

    def _step_payload(self, action: EssayAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EssayObservation]:
        seen = {**payload["observation"], "reward": payload.get("reward"), "done": payload.get("done", False)}
        return StepResult(EssayObservation(**seen), payload.get("reward"), payload.get("done", False))

    def _parse_state(self, payload: dict[str, Any]) -> EssayState:
        return EssayState(**payload)
