"""One answer of those of all worker processes: rules without input or output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

MERGED = frozenset({"/ready", "/metrics"})
"""The paths whose answers are about all worker processes."""


class Answer(NamedTuple):
    """An HTTP answer.

    Attributes:
        status: Its status.
        raw: All of its bytes.
        body: What follows its head.
    """

    status: int
    raw: bytes
    body: bytes


def read_answer(raw: bytes) -> Answer | None:
    """Takes an answer apart; None of bytes that are none."""
    head, _, body = raw.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    return Answer(int(status[0]), raw, body) if status and status[0].isdigit() else None


def merged(path: str, answers: Sequence[Answer | None]) -> bytes:
    """The answer for all.

    Args:
        path: One of ``MERGED``.
        answers: Those of the worker processes; None of one that gave none.
    """
    given = [answer for answer in answers if answer is not None]
    if not given:
        return _written("503 Service Unavailable", b'{"detail":"No worker process answers."}', b"application/json")
    refused = next((answer for answer in given if answer.status not in (200, 503)), None)
    if refused is not None:
        return refused.raw
    if path == "/metrics":
        return _written("200 OK", _summed([answer.body.decode() for answer in given]), b"text/plain; version=0.0.4")
    body = _all_of([json.loads(answer.body) for answer in given], len(answers) - len(given))
    status = "200 OK" if body["ready"] else "503 Service Unavailable"
    return _written(status, json.dumps(body).encode(), b"application/json")


def _all_of(bodies: Sequence[dict[str, Any]], missing: int) -> dict[str, Any]:
    is_ready = any(body["ready"] for body in bodies)
    reasons = [] if is_ready else [reason for body in bodies for reason in body["reasons"]]
    if not is_ready and missing:
        reasons.append(f"{missing} worker processes give no answer")
    numbers = ("active_sessions", "max_sessions", "hung_sessions")
    return {"ready": is_ready, "reasons": list(dict.fromkeys(reasons))} | {
        name: sum(body[name] for body in bodies) for name in numbers
    }


def _summed(pages: Sequence[str]) -> bytes:
    sums: dict[str, float | None] = {}
    for line in (line for page in pages for line in page.splitlines()):
        name, _, value = line.rpartition(" ")
        if line.startswith("#") or not name:
            sums[line] = None
        else:
            sums[name] = (sums.get(name) or 0.0) + float(value)
    lines = [name if value is None else f"{name} {value!r}" for name, value in sums.items()]
    return ("\n".join(lines) + "\n").encode()


def _written(status: str, body: bytes, kind: bytes) -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: ".encode()
        + kind
        + f"\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
