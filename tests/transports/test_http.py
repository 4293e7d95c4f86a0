from __future__ import annotations

import asyncio
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.bodies import Metadata, Schemas

from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.http import fetch_metadata, fetch_schema
from tests.support.scripted_server import scripted_server
from tests.support.servers import running_server

SCHEMA = {
    "action": {"type": "object"},
    "observation": {},
    "state": {},
    "x-gymnasium-spaces": {"action": {"type": "Discrete"}, "observation": {}},
    "x-reset-options": {"natural": {}},
    "x-openenv-gym": {"seeded_stream": True},
    "later": 1,
}


@pytest.fixture(scope="module")
def plain_server() -> Iterator[str]:
    with running_server("tests.support.apps.bridge_walks:walk") as server:
        yield server.base_url


def schema(base_url: str, **options: Any) -> Schemas:
    return asyncio.run(fetch_schema(base_url, ConnectionOptions(**options)))


def failure(base_url: str, **options: Any) -> errors.OpenEnvGymError:
    with pytest.raises(errors.OpenEnvGymError) as caught:
        schema(base_url, **options)
    return caught.value


def test_the_schemas_are_read_with_this_projects_extensions() -> None:
    with scripted_server(http={"/schema": (200, SCHEMA)}) as server:
        read = schema(server.base_url)
    assert read.action == {"type": "object"}
    assert read.reset_options == {"natural": {}}
    assert read.spaces is not None
    assert read.seeding is not None
    assert read.seeding.seeded_stream is True


def test_a_server_of_openenv_says_nothing_of_the_extensions() -> None:
    with scripted_server(http={"/schema": (200, {"action": {}, "observation": {}, "state": {}})}) as server:
        read = schema(server.base_url)
    assert (read.spaces, read.reset_options, read.info_keys, read.seeding) == (None, None, None, None)


def test_metadata_of_a_later_version_is_read() -> None:
    body = {"name": "n", "description": "d", "later": 1}
    with scripted_server(http={"/metadata": (200, body)}) as server:
        read = asyncio.run(fetch_metadata(server.base_url, ConnectionOptions()))
    assert read == Metadata(name="n", description="d")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {}, errors.Unauthorized),
        (403, {}, errors.Unauthorized),
        (404, {}, errors.ConnectError),
        (500, "oops", errors.ConnectError),
        (302, {"Location": "http://127.0.0.1:1/"}, errors.ConnectError),
        (200, "<html>", errors.UnexpectedReply),
        (200, [1], errors.UnexpectedReply),
        (200, {"action": 3, "observation": {}}, errors.UnexpectedReply),
        (200, {}, errors.UnexpectedReply),
    ],
)
def test_a_wrong_answer_has_its_error(status: int, body: Any, expected: type[errors.OpenEnvGymError]) -> None:
    with scripted_server(http={"/schema": (status, body)}) as server:
        assert type(failure(server.base_url)) is expected


def test_nothing_listens_there() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        error = failure(f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert type(error) is errors.ConnectError
    assert "Start it, or correct base_url" in error.message
    cause = error.__cause__
    assert isinstance(cause, ConnectionRefusedError)
    assert cause.__cause__ is None  # one traceback of a library's tells no more than none
    assert cause.__suppress_context__


def test_https_on_a_port_of_plain_http_says_so() -> None:
    with scripted_server(http={"/schema": (200, SCHEMA)}) as server:
        error = failure(server.base_url.replace("http://", "https://"))
    assert type(error) is errors.ConnectError
    assert "http://" in error.message.removeprefix(server.base_url)


def test_https_on_a_port_of_uvicorn_says_so(plain_server: str) -> None:
    error = failure(plain_server.replace("http://", "https://"))
    assert type(error) is errors.ConnectError
    assert "write http://" in error.message.lower()


def test_an_unknown_host_says_so() -> None:
    error = failure("http://host.invalid:80")
    assert type(error) is errors.ConnectError
    assert "host" in error.message
    assert "Correct base_url" in error.message


def test_a_server_that_never_answers() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        error = failure(f"http://127.0.0.1:{silent.getsockname()[1]}", connect_timeout=0.1)
    assert type(error) is errors.ConnectTimeout


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_loopback_never_goes_through_a_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with scripted_server(http={"/schema": (200, SCHEMA)}) as server:
        assert schema(server.base_url).action == {"type": "object"}


def test_a_proxy_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with scripted_server(http={"/schema": (200, SCHEMA)}) as server:
        assert type(failure(server.base_url, use_proxy=True)) is errors.ConnectError


def test_a_file_of_certificates_that_is_none_is_refused() -> None:
    assert type(failure("https://127.0.0.1:1", ca_file="/nowhere.pem")) is errors.ConfigurationError


def test_no_error_shows_a_secret_in_the_address() -> None:
    assert "hidden" not in failure("http://user:hidden@127.0.0.1:1/?key=hidden", token="hidden").message


@contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says anything to one request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # the client may leave at any time
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_an_answer_nested_too_deeply_is_no_json() -> None:
    with scripted_server(http={"/schema": (200, "[" * 100_000)}) as server:
        assert isinstance(failure(server.base_url), errors.UnexpectedReply)


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_above_the_limit_is_read_no_further(packed: bool) -> None:
    def endless(connection: socket.socket) -> None:
        packer = zlib.compressobj(wbits=31)
        connection.sendall(b"Content-Encoding: gzip\r\n\r\n" if packed else b"\r\n")
        while True:
            connection.sendall(packer.compress(b" " * 1_000_000) if packed else b" " * 1_000_000)

    with raw_server(endless) as url:
        assert isinstance(failure(url, max_frame_bytes=1_000_000), errors.FrameTooLarge)


def test_a_server_that_answers_a_byte_at_a_time_is_too_late() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"Content-Length: 1000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.05)  # less than the time-out

    with raw_server(drip) as url:
        assert isinstance(failure(url, connect_timeout=0.3), errors.ConnectTimeout)
