from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.support import vector_client
from tests.support.servers import RunningServer
from tests.support.vector_client import VectorSocket, vector_socket


@pytest.fixture
def socket(server: RunningServer) -> Iterator[VectorSocket]:
    """A connection to the module's server."""
    with vector_socket(server.ws_url) as socket:
        yield socket


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs every test of a connection over both ways to its socket."""
    if metafunc.module.__name__.endswith("test_connection"):
        metafunc.fixturenames.append("way")
        metafunc.parametrize("way", ["asgi", "direct"], indirect=True)


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed connection stays with ASGI, any other is taken over from uvicorn."""
    compression = "deflate" if request.param == "asgi" else None
    connect = partial(getattr(vector_client, "connect"), compression=compression)  # noqa: B009 (it is not the module's own)
    monkeypatch.setattr(vector_client, "connect", connect)
