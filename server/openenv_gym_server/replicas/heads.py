"""What the first bytes of a connection tell of where it belongs: rules without input or output."""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from openenv_gym_protocol.vector.resuming import LINK_HEADER

from openenv_gym_server.placement import worker_of

PEEK_BYTES = 32 * 1024
"""What is looked at before a connection is handed on: a kernel keeps as much without being read."""

_END = b"\r\n\r\n"
_TELLING = tuple(name.lower() for name in ("X-OpenEnv-Session", "Mcp-Session-Id", LINK_HEADER))


class Head(NamedTuple):
    """The first request of a connection.

    Attributes:
        method: Of HTTP.
        path: Without the query.
        worker: The worker process that it names by an id, if any.
        size: How many bytes its head has.
    """

    method: str
    path: str
    worker: int | None
    size: int


def read_head(peeked: bytes) -> Head | None:
    """Reads what is there of a request; None while what follows may still tell where it belongs."""
    is_all = len(peeked) >= PEEK_BYTES
    end = peeked.find(_END)
    if end < 0 and not is_all:
        return None
    size = len(peeked) if end < 0 else end + len(_END)
    first, *lines = peeked[:size].decode("latin-1").split("\r\n")
    method, target, *_ = [*first.split(" "), "", ""]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    path, query = _taken_apart(target)
    head = Head(method, path, _worker_of(headers, query), size)
    if head.worker is not None or (method, path) != ("POST", "/mcp"):
        return head
    length = headers.get("content-length", "")
    if length.isdecimal() and len(peeked) < size + int(length) and not is_all:
        return None  # OpenEnv's calls name their session in the body
    return head._replace(worker=_worker_of_call(peeked[size:]))


def _taken_apart(target: str) -> tuple[str, str]:
    try:
        parts = urlsplit(target)
    except ValueError:
        return target, ""  # for the worker process to refuse
    return parts.path, parts.query


def _worker_of(headers: dict[str, str], query: str) -> int | None:
    asked = [*parse_qs(query).get("session_id", ()), *(headers.get(name, "") for name in _TELLING)]
    return next((worker for worker in map(worker_of, asked) if worker is not None), None)


def _worker_of_call(body: bytes) -> int | None:
    try:
        asked = json.loads(body)["params"]["session_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return worker_of(asked) if isinstance(asked, str) else None
