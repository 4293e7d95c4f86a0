"""A client that speaks in the echo environment's models."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.errors import UnexpectedReply
from openenv_gym_protocol.models import Action, State
from openenv_gym_protocol.tools import CallToolAction
from pydantic import ValidationError

from echo_env.models import EchoAction, EchoObservation, EchoResult
from openenv_gym.client import EnvClient, StepResult


class EchoEnv(EnvClient[Action, EchoObservation, State]):
    """A session at an echo server, ours or openenv's.

    ::

        with EchoEnv(base_url="http://localhost:8000").sync() as env:
            print(env.reset().observation.echoed_message)  # Echo environment ready!
            result = env.step(CallToolAction(tool_name="echo_message", arguments={"message": "Hello"}))
            print(result.observation.result)  # Hello

    It takes ``CallToolAction``, ``ListToolsAction`` and ``EchoAction``. ``observation.result["data"]`` is the plain
    value, and so is the result's text.
    """

    def _step_payload(self, action: Action) -> dict[str, Any]:
        if isinstance(action, EchoAction):
            action = CallToolAction(tool_name="echo_message", arguments={"message": action.message})
        return action.model_dump(exclude=None if action.metadata else {"metadata"})

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EchoObservation]:
        try:
            observation = EchoObservation.model_validate(_fields(payload))
        except ValidationError as error:
            raise UnexpectedReply(f"The server does not answer as an echo environment does: {error}") from error
        return StepResult(observation, observation.reward, observation.done, payload.get("metadata"))


def _fields(payload: dict[str, Any]) -> dict[str, Any]:
    told = payload.get("observation") or {}
    fields = {name: value for name, value in told.items() if name in EchoObservation.model_fields}
    fields["metadata"] = payload.get("metadata") or told.get("metadata") or {}
    fields["reward"], fields["done"] = payload.get("reward"), payload.get("done", False)
    result = fields.get("result")
    if isinstance(result, dict):
        fields["result"] = EchoResult(result)
        data = result.get("data")
        echoed = data.get("message") if isinstance(data, dict) else data
        if isinstance(echoed, str):
            fields |= {"echoed_message": echoed, "message_length": len(echoed)}
    elif "tool_name" not in fields:
        fields.setdefault("echoed_message", fields["metadata"].get("message"))
    return fields
