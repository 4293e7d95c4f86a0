"""A server under check: its pages and its sessions, by plain frames, so that errors can be provoked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx
from openenv_gym_protocol import json_codec
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES
from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from openenv_gym.bridge.interface import Interface
from openenv_gym.testing.conformance.checks import NotApplicable, Problem, require, require_object
from openenv_gym.testing.conformance.declaration import Declaration
from openenv_gym.transports.address import http_url, is_loopback, websocket_url
from openenv_gym.transports.base import ConnectionOptions

Frame = dict[str, Any]

SLOT_SECONDS = 20.0
"""How long a session that was just closed may hold its slot; our servers make the next one wait for five."""

PAUSE_SECONDS = 0.1
"""How long to wait before a slot is asked for again."""

_MOST_FRAMES = 100
_SEED = 20_071
_DRAWN = 40


@dataclass
class Server:
    """A server under check.

    Args:
        base_url: Where it is.
        options: What it asks for: token and headers.
        timeout: Seconds that it may take for an answer.
        declared: What its project promises.
        given_actions: Actions for its steps; None: they are drawn from its action space.
        figures: Where latencies are put, in milliseconds.
        silences: How often it did not answer in time.
    """

    base_url: str
    options: ConnectionOptions = field(default_factory=ConnectionOptions)
    timeout: float = 60.0
    declared: Declaration = field(default_factory=Declaration)
    given_actions: tuple[dict[str, Any], ...] | None = None
    figures: dict[str, float] = field(default_factory=dict)
    silences: int = 0

    def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **content: Any) -> httpx.Response:
        """Asks one of its pages.

        Args:
            method: Such as ``GET``.
            path: Such as ``/schema``.
            headers: Those of the request; None: those that it asks for.
            **content: As for httpx, such as ``json=``.

        Raises:
            Problem: It does not answer.
        """
        sent = self.options.request_headers() if headers is None else headers
        try:
            with httpx.Client(trust_env=not is_loopback(self.base_url), timeout=self.timeout) as client:
                return client.request(method, http_url(self.base_url, path), headers=sent, **content)
        except httpx.HTTPError as error:
            raise Problem(f"{method} {path} got no answer: {error or type(error).__name__}.") from error

    @contextmanager
    def socket(
        self, *, headers: dict[str, str] | None = None, compression: str | None = None, origin: str | None = None
    ) -> Iterator[ClientConnection]:
        """A connection to ``/ws``, until the end of the block.

        Raises:
            Problem: It is refused.
        """
        sent = self.options.request_headers() if headers is None else headers
        try:
            opened = connect(
                websocket_url(self.base_url),
                additional_headers=sent,
                compression=compression,
                origin=origin,  # type: ignore[arg-type]  # a name type for plain text
                proxy=None if is_loopback(self.base_url) else True,
                open_timeout=self.timeout,
                close_timeout=5,
                max_size=MAX_FRAME_BYTES,
            )
        except InvalidStatus as error:
            raise Refused(error.response.status_code) from error
        except (InvalidHandshake, OSError, TimeoutError) as error:
            raise Problem(f"/ws cannot be opened: {error}.") from error
        with opened:
            yield opened

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session of its own, until the end of the block.

        It waits for a slot, since a server may still be busy with the end of the last session.

        Raises:
            Problem: There is none.
        """
        end = time.monotonic() + SLOT_SECONDS
        while True:
            with self.socket() as socket:
                session = Session(socket, self)
                first = session.ask({"type": "state"})
                code = error_code(first)
                if code not in ("CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR"):
                    yield session
                    return
            if code != "CAPACITY_REACHED" or time.monotonic() > end:
                raise Problem(f"No session can be had: {first['data']}.", "Look into the server's log.")
            time.sleep(PAUSE_SECONDS)  # no event tells of a free slot

    @cached_property
    def schemas(self) -> Schemas:
        """What ``/schema`` says.

        Raises:
            NotApplicable: It cannot be read, which is a finding of ``schema-page``.
        """
        try:
            return Schemas.model_validate(self.ask("GET", "/schema").json())
        except (Problem, ValueError, ValidationError) as error:
            raise NotApplicable(f"/schema cannot be read: {error}") from error

    @cached_property
    def interface(self) -> Interface:
        """Its spaces and their codecs.

        Raises:
            OpenEnvGymError: There are none; see ``Interface``.
        """
        return Interface(self.schemas)

    @cached_property
    def actions(self) -> tuple[dict[str, Any], ...]:
        """Actions to step with, the same ones every time.

        Raises:
            NotApplicable: None are given, and none can be drawn.
        """
        if self.given_actions is not None:
            return self.given_actions
        try:
            space = self.interface.action_space
            space.seed(_SEED)
            return tuple(_as_json(self.interface.encode_action(space.sample())) for _ in range(_DRAWN))
        except OpenEnvGymError as error:
            raise NotApplicable(f"no action can be drawn; name some by --actions: {error.message}") from error


class Refused(Problem):
    """The handshake of ``/ws`` was refused.

    Args:
        status: By which HTTP status.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"/ws refused the connection with HTTP {status}.", "Check the address and the token.")
        self.status = status


class Session:
    """One session, frame by frame.

    Args:
        socket: Its connection.
        server: Whose it is.

    Attributes:
        refusals: What the environment said of each step that it failed.
    """

    def __init__(self, socket: ClientConnection, server: Server) -> None:
        self._socket = socket
        self._server = server
        self._timeout = server.timeout
        self.refusals: list[str] = []

    def send(self, frame: Frame | str | bytes) -> None:
        """Sends a frame: a dictionary as JSON, other things as they are.

        On a closed connection it does nothing: whoever reads next learns why the server closed it.
        """
        with suppress(ConnectionClosed):
            self._socket.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    def receive(self) -> Frame:
        """The next frame of the server.

        Raises:
            Problem: None comes, or it is no JSON object.
        """
        try:
            text = self._socket.recv(timeout=self._timeout)
        except TimeoutError as error:
            self._server.silences += 1
            raise Problem(f"No answer came within {self._timeout:g} s.") from error
        except ConnectionClosed as error:
            raise Problem(f"The server closed the connection instead of answering: {error}.") from error
        try:
            frame = json.loads(text)
        except ValueError as error:
            raise Problem(f"A frame of the server is no JSON: {text!r:.200}.") from error
        return require_object(frame, f"A frame of the server is no JSON object: {frame!r:.200}.")

    def ask(self, frame: Frame | str | bytes) -> Frame:
        """Sends a frame and waits for the next one."""
        self.send(frame)
        return self.receive()

    def reset(self, **keys: Any) -> Frame:
        """Resets, and returns ``data`` of the observation.

        Raises:
            Problem: The answer is no observation.
        """
        return observation_of(self.ask({"type": "reset", "data": keys}))

    def step(self, action: dict[str, Any]) -> Frame | None:
        """Steps, and returns ``data`` of the observation; None where the environment refuses this action now.

        Raises:
            Problem: The answer is no observation.
        """
        reply = self.ask({"type": "step", "data": action})
        if error_code(reply) == "EXECUTION_ERROR":
            self.refusals.append(str(_data(reply).get("message")))
            return None
        return observation_of(reply)

    def closed(self) -> tuple[int | None, list[Any]]:
        """Waits until the server closes: the close code, and the frames that came before.

        Raises:
            Problem: It does not.
        """
        frames: list[Any] = []
        try:
            while len(frames) < _MOST_FRAMES:
                frames.append(self._socket.recv(timeout=self._timeout))
        except TimeoutError as error:
            raise Problem(f"The server did not close within {self._timeout:g} s.") from error
        except ConnectionClosed as error:
            return (None if error.rcvd is None else error.rcvd.code), frames
        raise Problem(f"The server sent {len(frames)} frames instead of closing.")


def observation_of(reply: Frame) -> Frame:
    """The envelope of an observation.

    Raises:
        Problem: The frame is none.
    """
    require(reply.get("type") == "observation", f"The answer is no observation but {_shown(reply)}.")
    data = _data(reply)
    unknown = set(data) - {"observation", "reward", "done", "metadata"}
    require(not unknown, f"data of an observation has the unknown keys {sorted(unknown)}.")
    require(isinstance(data.get("observation"), dict), f"data.observation is no object: {_shown(reply)}.")
    require(isinstance(data.get("done"), bool), f"data.done is neither true nor false: {_shown(reply)}.")
    require("reward" in data, f"data.reward is missing: {_shown(reply)}.")
    reward = data["reward"]
    require(reward is None or isinstance(reward, int | float), f"data.reward is no number: {reward!r:.80}.")
    return data


def error_code(reply: Frame) -> Any:
    """The code of an error; None of any other frame.

    Raises:
        Problem: It is an error without an object as its data.
    """
    return _data(reply).get("code") if reply.get("type") == "error" else None


def error_of(reply: Frame, *codes: str) -> Frame:
    """``data`` of an error.

    Args:
        reply: The frame.
        *codes: Which code it may have.

    Raises:
        Problem: It is none, or has another code.
    """
    expected = " or ".join(codes)
    require(reply.get("type") == "error", f"The answer is no {expected} error but {_shown(reply)}.")
    data = _data(reply)
    require(isinstance(data.get("message"), str), f"data.message of an error is no text: {_shown(reply)}.")
    require(data.get("code") in codes, f"The error has the code {data.get('code')!r}, not {expected}.")
    return data


def _data(reply: Frame) -> Frame:
    return require_object(reply.get("data"), f"data is no object: {_shown(reply)}.")


def _shown(reply: Frame) -> str:
    text = json.dumps(reply)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _as_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as they look after they have travelled."""
    plain: dict[str, Any] = json.loads(json_codec.encode(fields))
    return plain
