"""The WebSocket ``/mcp``: OpenEnv's JSON-RPC subset, one call a frame, with a session of the connection's own."""

from __future__ import annotations

from functools import partial

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym_server import rpc
from openenv_gym_server.asgi import Message, Receive, Send
from openenv_gym_server.routes.websocket import StandardConversation, asked_session
from openenv_gym_server.serialisation import error_to_json
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session
from openenv_gym_server.sockets.takeover import accepted_socket, converse


class McpSocketEndpoint:
    """The ASGI application behind the WebSocket ``/mcp``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        socket = accepted_socket(scope, receive, send)
        await converse(scope, socket, McpConversation(self._service, socket, asked_session(scope)))


class McpConversation(StandardConversation):
    """The same as on ``/ws``, in the words of JSON-RPC."""

    def _exchange(self, session: Session, frame: str | bytes) -> None:
        session.worker.submit(session.job(partial(rpc.exchange, frame=frame), self._reply))

    def _reply(self, text: str | BaseException | None) -> None:
        if text == rpc.NOTHING:
            self.sent(rpc.NOTHING)
            self._socket.settle()
        elif isinstance(text, str):
            super()._reply(text)

    @staticmethod
    def _refusal(error: OpenEnvGymError) -> str:
        return error_to_json(rpc.refusal_of(error).response())
