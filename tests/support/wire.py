"""Raw exchanges on the standard wire: what a server answers to given frames and HTTP requests, and how two differ."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

REPLY_TIMEOUT = 30.0
"""Seconds; far more than any server here needs."""


@dataclass(frozen=True)
class Difference:
    """One place where two answers differ.

    Attributes:
        path: Where: the index of the answer, then its keys, joined by dots.
        left: The first one's value there.
        right: The second one's value there.
    """

    path: str
    left: Any
    right: Any


@dataclass(frozen=True)
class Missing:
    """Stands for a key that one side does not have."""

    def __repr__(self) -> str:
        return "(missing)"


MISSING = Missing()


def record_texts(base_url: str, frames: Sequence[Any], *, path: str = "/ws") -> list[str]:
    """Sends frames one after another on a connection of their own, each after the answer to the one before.

    Args:
        base_url: The server's.
        frames: What to send: str and bytes as they are, anything else as JSON.
        path: Where the WebSocket is.

    Returns:
        One answer a frame: the reply's text as it came, or ``{"closed": code}``, after which nothing follows.
    """
    url = base_url.replace("http://", "ws://") + path
    answers: list[str] = []
    with connect(url, compression=None, proxy=None, max_size=None, close_timeout=5) as socket:
        for frame in frames:
            # A server that refuses speaks first and closes: what it said is read below.
            with suppress(ConnectionClosed):
                socket.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))
            try:
                answers.append(str(socket.recv(timeout=REPLY_TIMEOUT)))
            except ConnectionClosed as closed:
                answers.append(json.dumps({"closed": closed.rcvd.code if closed.rcvd else None}))
                break
    return answers


def record_frames(base_url: str, frames: Sequence[Any], *, path: str = "/ws") -> list[dict[str, Any]]:
    """The answers of ``record_texts``, parsed."""
    return [json.loads(text) for text in record_texts(base_url, frames, path=path)]


def record_pipelined(base_url: str, frames: Sequence[Any]) -> list[dict[str, Any]]:
    """Sends all frames at once, then reads as many answers."""
    with connect(base_url.replace("http://", "ws://") + "/ws", compression=None, proxy=None) as socket:
        for frame in frames:
            socket.send(frame if isinstance(frame, str) else json.dumps(frame))
        return [json.loads(socket.recv(timeout=REPLY_TIMEOUT)) for _ in frames]


def record_request(base_url: str, method: str, path: str, **content: Any) -> dict[str, Any]:
    """Makes one HTTP request.

    Returns:
        Its ``status``, ``content_type`` and ``body``: parsed when it is JSON, else text.
    """
    with httpx.Client(trust_env=False, timeout=REPLY_TIMEOUT) as client:
        response = client.request(method, base_url + path, **content)
    content_type = response.headers.get("content-type", "").partition(";")[0]
    body = response.json() if content_type == "application/json" else response.text
    return {"status": response.status_code, "content_type": content_type, "body": body}


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """Compares two answers key by key; 1, 1.0 and true are three values."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            yield from differences(left.get(key, MISSING), right.get(key, MISSING), f"{path}.{key}".lstrip("."))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(one, other, f"{path}.{index}".lstrip("."))
    elif not _same(left, right):
        yield Difference(path, left, right)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right):
        return True
    return type(left) is type(right) and bool(left == right)
