"""What the first bytes of a connection tell of where it belongs."""

from __future__ import annotations

import json

import pytest
from openenv_gym_server.replicas.heads import PEEK_BYTES, read_head


def head(first: str, *lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([first, "Host: localhost", *lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    "peeked",
    [
        head("GET /ws?session_id=5f1c~3 HTTP/1.1"),
        head("GET /ws?a=b&session_id=5f1c%7E3 HTTP/1.1"),
        head("POST /step HTTP/1.1", "x-openenv-session: 5f1c~3"),
        head("POST /mcp HTTP/1.1", "MCP-Session-Id:5f1c~3", "Content-Length: 100"),
        head("GET /ws HTTP/1.1", "X-OpenEnv-Link: name~3"),
    ],
)
def test_a_session_a_link_or_an_mcp_session_names_its_worker(peeked: bytes) -> None:
    found = read_head(peeked)
    assert found is not None
    assert (found.worker, found.size) == (3, len(peeked))


@pytest.mark.parametrize(
    "peeked",
    [
        head("GET /ws HTTP/1.1"),
        head("GET /ws?session_id=unknown HTTP/1.1"),
        head("POST /reset HTTP/1.1", "X-OpenEnv-Session:"),
        head("GET //[ HTTP/1.1"),
        b"\r\n\r\n",
        b"\xff\xfe nonsense\r\n\r\n",
    ],
)
def test_anything_else_may_go_to_any(peeked: bytes) -> None:
    found = read_head(peeked)
    assert found is not None
    assert found.worker is None


def test_a_head_is_waited_for_until_it_is_whole() -> None:
    whole = head("GET /ready HTTP/1.1")
    assert all(read_head(whole[:size]) is None for size in range(len(whole)))
    found = read_head(whole)
    assert found is not None
    assert (found.method, found.path) == ("GET", "/ready")


def test_a_head_without_an_end_goes_to_who_refuses_it() -> None:
    assert read_head(b"GET / HTTP/1.1\r\nX: " + b"x" * PEEK_BYTES) is not None


def call(session: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "tools/list", "params": {"session_id": session}, "id": 1}).encode()


def test_a_call_of_openenvs_names_its_session_in_the_body_which_is_waited_for() -> None:
    body = call("5f1c~2")
    whole = head("POST /mcp HTTP/1.1", f"Content-Length: {len(body)}", body=body)
    assert read_head(whole[:-1]) is None
    found = read_head(whole)
    assert found is not None
    assert (found.worker, found.size) == (2, len(whole) - len(body))


@pytest.mark.parametrize("body", [b"", b"[]", b"{", call(7), call(None), b'{"params": []}', b"[" * 20_000])
def test_a_body_that_names_none_may_go_to_any(body: bytes) -> None:
    found = read_head(head("POST /mcp HTTP/1.1", f"Content-Length: {len(body)}", body=body))
    assert found is not None
    assert found.worker is None


def test_the_body_of_other_requests_is_not_waited_for() -> None:
    assert read_head(head("POST /step HTTP/1.1", "Content-Length: 100")) is not None
