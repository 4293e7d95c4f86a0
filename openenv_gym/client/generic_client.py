"""A client that knows no models: dictionaries in, dictionaries out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.client.env_client import EnvClient
from openenv_gym.client.models import plain_fields
from openenv_gym.client.results import StepResult
from openenv_gym.client.schema_models import SchemaAction, action_class_of


class GenericEnvClient(EnvClient[Any, dict[str, Any], dict[str, Any]]):
    """Talks to any environment without its package: actions, observations and states are dictionaries.

    An action may also be a pydantic model or a dataclass, whose fields are sent. ``action_class`` makes one of what the
    server says of its environment::

        Action = await client.action_class()
        result = await client.step(Action(message="hello"))
    """

    async def action_class(self) -> type[Any]:
        """A model of the environment's actions, made of the server's schema: it refuses what does not fit.

        Raises:
            UnsupportedSchema: The server's actions have no fields by name.
            OpenEnvGymError: The server cannot be reached or answers wrongly.
        """
        return action_class_of((await self.schema()).action)

    def _step_payload(self, action: Any) -> dict[str, Any]:
        is_ours = isinstance(action, SchemaAction)
        payload = action.model_dump(by_alias=True, exclude_unset=True) if is_ours else plain_fields(action)
        if payload is None:
            raise InvalidAction(f"An action must be a mapping of its fields, a model or a dataclass, not {action!r}.")
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[dict[str, Any]]:
        return StepResult(
            observation=payload.get("observation", {}),
            reward=payload.get("reward"),
            done=payload.get("done", False),
            metadata=payload.get("metadata"),
        )

    def _parse_state(self, payload: dict[str, Any]) -> dict[str, Any]:
        return payload


class GenericAction(dict[str, Any]):
    """An action by its fields: ``GenericAction(message="hello")``. It is a dictionary with a name."""

    def __init__(self, fields: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        super().__init__(fields or {}, **more)

    def __repr__(self) -> str:
        return f"GenericAction({', '.join(f'{name}={value!r}' for name, value in self.items())})"
