from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.readiness import Silence, health_status, is_dead, refusal, wait_until_ready
from tests.support.descriptors import no_descriptor_left
from tests.support.loopback import served


class RecordedOwner:
    """An owner whose process ends after being asked some times."""

    server_id = "recorded"

    def __init__(self, *, ends_after: int | None = None, exit_code: int = 3) -> None:
        self.asked = 0
        self._ends_after = ends_after
        self._exit_code = exit_code

    def exit_code(self, wait: float = 0.0) -> int | None:
        self.asked += 1
        ended = self._ends_after is not None and self.asked > self._ends_after
        return self._exit_code if ended else None

    def logs(self, lines: int = 100) -> str:
        return f"the last {lines} lines"

    def spawn(self, argv: list[str], **given: Any) -> int:
        raise NotImplementedError

    def keep(self, argv: list[str], **given: Any) -> None:
        raise NotImplementedError

    def kept_started(self) -> None:
        raise NotImplementedError

    def ready(self, base_url: str, token: str | None) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


@contextmanager
def answering(*statuses: int) -> Iterator[str]:
    """A server that answers ``/health`` with each status in turn, and the last one from then on."""
    left = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    with served(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}"


def closed_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


@contextmanager
def answering_once(status: int) -> Iterator[str]:
    """A server that answers one request, and no other."""

    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(f"HTTP/1.1 {status} Told\r\nContent-Length: 0\r\n\r\n".encode())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_what_was_answered_last_is_told_though_the_deadline_cuts_an_attempt_short() -> None:
    with answering_once(503) as url, pytest.raises(ServerStartError, match="answered status 503"):
        wait_until_ready(url, RecordedOwner(), Deadline(3.5), name="x")


def test_a_server_is_ready_when_it_answers_200() -> None:
    owner = RecordedOwner()
    with answering(503, 503, 200) as url:
        wait_until_ready(url, owner, Deadline(30), name="x")
    assert owner.asked == 3


def test_a_process_that_ended_is_noticed_before_the_deadline() -> None:
    with pytest.raises(ServerStartError, match="exit code 3") as caught:
        wait_until_ready(closed_address(), RecordedOwner(ends_after=2), Deadline(600), name="x")
    assert caught.value.exit_code == 3
    assert caught.value.logs == "the last 100 lines"


def test_a_killed_process_is_told_by_its_signal() -> None:
    with pytest.raises(ServerStartError, match="signal 9"):
        wait_until_ready(closed_address(), RecordedOwner(ends_after=0, exit_code=-9), Deadline(600), name="x")


def test_the_last_answer_is_told_when_time_is_over() -> None:
    with answering(500) as url, pytest.raises(ServerStartError, match="status 500") as caught:
        wait_until_ready(url, RecordedOwner(), Deadline(3.0), name="x")
    assert caught.value.exit_code is None
    with pytest.raises(ServerStartError, match="nothing"):
        wait_until_ready(closed_address(), RecordedOwner(), Deadline(0.3), name="x")


def test_what_speaks_no_http_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        assert health_status(f"http://127.0.0.1:{mute.getsockname()[1]}", timeout=0.1) is None


def test_a_server_is_dead_when_it_refuses_and_not_when_it_is_busy() -> None:
    assert is_dead(closed_address(), timeout=30.0)
    with answering(503) as url:
        assert not is_dead(url, timeout=30.0)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        assert not is_dead(f"http://127.0.0.1:{busy.getsockname()[1]}", timeout=0.1)


def test_a_server_is_not_dead_because_this_process_has_no_descriptor_left() -> None:
    with answering(200) as url, no_descriptor_left():
        assert not is_dead(url, timeout=5.0)


def test_a_server_that_accepts_and_hangs_up_is_dead() -> None:
    with socket.create_server(("127.0.0.1", 0)) as dying:
        thread = threading.Thread(target=lambda: dying.accept()[0].close())
        thread.start()
        assert is_dead(f"http://127.0.0.1:{dying.getsockname()[1]}", timeout=30.0)
        thread.join()


def test_silence_is_broken_once_and_not_at_first(caplog: pytest.LogCaptureFixture) -> None:
    times = iter([0.0, 1.9, 2.0, 3.0, 9.0])
    silence = Silence("my project", clock=lambda: next(times))
    with caplog.at_level(logging.INFO, logger="openenv_gym"):
        silence.check()
        assert caplog.messages == []
        silence.check()
        silence.check()
    assert caplog.messages == ["starting server… (my project)"]


class RefusingOwner(RecordedOwner):
    """An owner whose process ended because it refused its settings."""

    def logs(self, lines: int = 100) -> str:
        return (
            'starting\nTraceback (most recent call last):\n  File "app.py", line 3\n'
            "openenv_gym_protocol.errors.ConfigurationError: GRID_SIZE='x' is no number.\nTry 5.\n"
        )


def test_the_cause_of_a_refusal_stands_first_and_without_its_traceback() -> None:
    with pytest.raises(ServerStartError) as raised:
        wait_until_ready(closed_address(), RefusingOwner(ends_after=0), Deadline(30), name="the grid")
    assert raised.value.message == "The server of the grid refused to start: GRID_SIZE='x' is no number.\nTry 5."
    assert "Traceback" in raised.value.logs
    assert raised.value.exit_code == 3
    assert refusal("the last 100 lines") is None
