from __future__ import annotations

import inspect
import ssl

import pytest
import websockets.exceptions
from openenv_gym_protocol import errors
from websockets.datastructures import Headers
from websockets.http11 import Response

from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.failures import first_cause, handshake_failure, shown

URL = "ws://host/ws"


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown("wss://user:password@host:1/prefix/ws?session_id=secret") == "wss://host:1/prefix/ws"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), errors.ConnectTimeout),
        (ConnectionRefusedError(), errors.ConnectError),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), errors.ConnectError),
        (OSError(), errors.ConnectError),
        (ssl.SSLCertVerificationError("self-signed"), errors.ConnectError),
        (EOFError("stream ended"), errors.ConnectError),
        (ImportError("python-socks is required"), errors.ConnectError),
        (websockets.exceptions.InvalidURI(URL, "odd"), errors.ConfigurationError),
        (websockets.exceptions.InvalidMessage("not HTTP"), errors.ConnectError),
        (websockets.exceptions.InvalidStatus(Response(401, "", Headers())), errors.Unauthorized),
    ],
)
def test_a_failed_opening_has_its_error(error: Exception, expected: type[errors.OpenEnvGymError]) -> None:
    mapped = handshake_failure(error, URL, ConnectionOptions())
    assert type(mapped) is expected
    assert "host" in mapped.message


LIBRARY = [
    kind
    for kind in vars(websockets.exceptions).values()
    if inspect.isclass(kind)
    and issubclass(kind, websockets.exceptions.WebSocketException)
    and kind is not websockets.exceptions.InvalidStatus
]


@pytest.mark.parametrize("kind", LIBRARY)
def test_every_exception_of_the_library_becomes_one_of_ours(kind: type[Exception]) -> None:
    # The mapping looks at the class alone: no exception needs its own arguments here.
    bare = type("Bare", (kind,), {"__init__": lambda _: None, "__str__": lambda _: "text"})
    assert isinstance(handshake_failure(bare(), URL, ConnectionOptions()), errors.OpenEnvGymError)


def test_a_refused_token_is_told_from_a_missing_one() -> None:
    refused = websockets.exceptions.InvalidStatus(Response(401, "", Headers()))
    assert "token=" in handshake_failure(refused, URL, ConnectionOptions()).message
    assert "not this server's" in handshake_failure(refused, URL, ConnectionOptions(token="t")).message


def test_below_a_librarys_layers_is_the_systems_error_alone() -> None:
    def fail() -> None:
        try:
            try:
                raise ConnectionRefusedError(111, "refused")
            except OSError as error:
                raise ValueError("a layer") from error
        except ValueError:
            raise RuntimeError("another layer")  # noqa: B904  (libraries do so)

    with pytest.raises(RuntimeError) as caught:
        fail()
    found = first_cause(caught.value)
    assert isinstance(found, ConnectionRefusedError)
    assert (found.__cause__, found.__suppress_context__) == (None, True)


def test_without_an_error_of_the_system_the_librarys_own_stays() -> None:
    error = RuntimeError("odd")
    error.__cause__ = ValueError("below")
    assert first_cause(error) is error
    assert error.__cause__ is None
