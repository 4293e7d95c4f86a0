"""A client without a server: frames go straight to the environment, in the calling thread."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fastapi import FastAPI
from openenv_gym_protocol import codec
from openenv_gym_protocol.errors import UnexpectedReply
from openenv_gym_protocol.messages import (
    ErrorReply,
    ObservationReply,
    Reply,
    Request,
    ResetRequest,
    Reward,
    StateReply,
    StateRequest,
    StepRequest,
)
from pydantic import BaseModel

from openenv_gym_server import frames
from openenv_gym_server.arrays import array_fields, lists_to_arrays
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.service import Service


@dataclass(frozen=True)
class LocalResult:
    """What a reset or step returned, after it went through JSON and back.

    Attributes:
        observation: An instance of the app's observation class.
        reward: The reward, or None.
        done: The episode is over.
        truncated: It is over by a limit outside the task.
        metadata: The observation's metadata.
        wire: The observation's fields as a stock client gets them.
    """

    observation: Any
    reward: Reward
    done: bool
    truncated: bool
    metadata: dict[str, Any]
    wire: dict[str, Any]


class LocalClient:
    """Drives an app's environment without sockets, threads or a running server.

    Every call goes through the same validation, environment code and serialisation as a client's frame does, and
    fails with the exception that a client would get.

    ::

        with LocalClient(app) as client:
            client.reset(seed=1)
            assert client.step(action=0).reward == 1.0

    Args:
        app: What ``create_app`` made.

    Raises:
        FactoryError: The environment cannot be made.
    """

    def __init__(self, app: FastAPI) -> None:
        service: Service = app.state.openenv_gym
        self._definition = service.definition
        self._runner = asyncio.Runner() if service.definition.traits.execution == "async" else None
        self._host = Host(service.contract, "local")
        self._run(self._host.construct())

    def reset(self, **options: Any) -> LocalResult:
        """Starts an episode with ``seed``, ``episode_id`` and the environment's own options.

        Raises:
            InvalidMessage: Wrong values.
            ExecutionError: The environment failed.
        """
        return self._result(self._ask(ResetRequest(data=options)), self._definition.reset_observation_class)

    def step(self, action: BaseModel | None = None, /, **fields: Any) -> LocalResult:
        """Takes an action, given as a model or as its fields.

        Raises:
            InvalidMessage: The action's model refuses it.
            ExecutionError: The environment failed.
        """
        data = fields if action is None else action.model_dump(exclude_unset=True)
        return self._result(self._ask(StepRequest(data=data)), self._definition.observation_class)

    def state(self) -> dict[str, Any]:
        """Reads the state.

        Raises:
            ExecutionError: The environment failed.
        """
        reply = self._ask(StateRequest())
        if not isinstance(reply, StateReply):
            raise UnexpectedReply(f"state was answered with {reply.type}.")
        return reply.data

    def close(self) -> None:
        """Closes the environment; further calls do nothing."""
        self._run(self._host.close())
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def __enter__(self) -> Self:
        """Returns the client, which closes at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the environment."""
        self.close()

    def _ask(self, request: Request) -> Reply:
        text = self._run(frames.exchange(self._host, codec.encode_request(request)))
        reply = codec.decode_reply(text or "")
        if isinstance(reply, ErrorReply):
            raise codec.error_from_reply(reply.data)
        return reply

    def _run(self, work: Any) -> Any:
        return run_to_end(work) if self._runner is None else self._runner.run(work)

    @staticmethod
    def _result(reply: Reply, model: type[BaseModel]) -> LocalResult:
        if not isinstance(reply, ObservationReply):
            raise UnexpectedReply(f"An observation was expected, not {reply.type}.")
        data = reply.data
        beside = {"reward": data.reward, "done": data.done}
        fields = {**data.observation, **{key: value for key, value in beside.items() if key in model.model_fields}}
        arrays = array_fields(model)
        return LocalResult(
            observation=model.model_validate(lists_to_arrays(fields, arrays) if arrays else fields),
            reward=data.reward,
            done=data.done,
            truncated=bool(data.done and data.all_metadata.get("truncated")),
            metadata=data.all_metadata,
            wire=data.observation,
        )
