from __future__ import annotations

import asyncio
import socket
from contextlib import closing
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.bodies import Metadata, Schemas

from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.http import fetch_metadata, fetch_schema
from tests.support.scripted_server import scripted_server

SCHEMA = {
    "action": {"type": "object"},
    "observation": {},
    "state": {},
    "x-gymnasium-spaces": {"action": {"type": "Discrete"}, "observation": {}},
    "x-reset-options": {"natural": {}},
    "x-openenv-gym": {"seeded_stream": True},
    "later": 1,
}


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
        assert type(failure(f"http://127.0.0.1:{unused.getsockname()[1]}")) is errors.ConnectError


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
