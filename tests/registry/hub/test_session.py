"""What the Hub may answer without harm: too much, without end, and what is no answer at all."""

from __future__ import annotations

import gzip
import socket
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from openenv_gym_protocol.errors import ConnectError, ConnectTimeout, OpenEnvGymError, ProtocolFailure, Unauthorized
from openenv_gym_registry.hub import session as sessions
from openenv_gym_registry.hub.session import HubSession, library_token

from tests.support.hub.state import Answer, HubState

SPACE = "/api/spaces/openenv/echo_env"


def failure(token: str | None = None) -> OpenEnvGymError:
    with pytest.raises(OpenEnvGymError) as caught:
        HubSession(token).get(SPACE, what="openenv/echo_env")
    return caught.value


@contextmanager
def dripping(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Hub that begins an answer and then sends a byte now and then, for ever."""
    ended = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not ended.wait(0.02):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ANSWER_SECONDS", 0.2)
    with dripping(monkeypatch):
        assert type(failure()) is ConnectTimeout


def test_an_endless_refusal_is_not_read_to_its_end(hub: HubState) -> None:
    hub.fail(SPACE, Answer(403, b"x" * (sessions.MAX_ERROR_BYTES + 1)))
    found = failure()
    assert type(found) is ProtocolFailure
    assert "403" in found.message


def test_a_long_refusal_is_told_in_part(hub: HubState) -> None:
    hub.fail(SPACE, Answer(403, {"error": "x" * 100_000}))
    assert len(failure().message) < 2_000


def test_a_compressed_refusal_is_still_understood(hub: HubState) -> None:
    body = gzip.compress(b'{"error": "You may not do that"}')
    hub.fail(SPACE, Answer(403, body, {"Content-Encoding": "gzip"}))
    assert "You may not do that" in failure().message


@pytest.mark.parametrize("status", [400, 418, 451, 502])
def test_every_other_refusal_is_an_error_of_ours(hub: HubState, status: int) -> None:
    hub.fail(SPACE, Answer(status, b"<html>", {"Content-Type": "text/html"}))
    found = failure()
    assert type(found) is ConnectError
    assert str(status) in found.message


@pytest.mark.parametrize("token", ["hf_se\x01cret", "hf_sécret", "hf_se cret\x7f"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(
    hub: HubState, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    found = failure(token)
    assert type(found) is Unauthorized
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(Unauthorized) as caught:
        library_token()
    for each in (found, caught.value):
        assert "cret" not in "".join(traceback.format_exception(each))
    assert hub.asked == []
