"""What a client asks by plain HTTP: the schemas, the metadata and the tasks of an environment."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from openenv_gym_protocol import errors, json_codec
from openenv_gym_protocol.bodies import Metadata, Schemas
from pydantic import BaseModel, ValidationError

from openenv_gym.transports.address import http_url, is_loopback
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.failures import first_cause, is_plain_http, shown
from openenv_gym.transports.tls import tls_context

_M = TypeVar("_M", bound=BaseModel)


async def fetch_schema(base_url: str, options: ConnectionOptions) -> Schemas:
    """Asks a server for the schemas of its environment.

    Args:
        base_url: Where the server is.
        options: Token, headers, proxy and certificates; ``connect_timeout`` bounds the whole request, and
            ``max_frame_bytes`` the answer.

    Raises:
        ConnectError: The server cannot be reached, or has no such route.
        ConnectTimeout: It did not answer in time.
        Unauthorized: It refused the token or asked for one.
        UnexpectedReply: Its answer is not what the route returns.
    """
    return await _fetch(base_url, "/schema", options, Schemas)


async def fetch_metadata(base_url: str, options: ConnectionOptions) -> Metadata:
    """Asks a server for the name, version and description of its environment.

    Args:
        base_url: Where the server is.
        options: As for ``fetch_schema``.

    Raises:
        OpenEnvGymError: As for ``fetch_schema``.
    """
    return await _fetch(base_url, "/metadata", options, Metadata)


async def ask_route(
    base_url: str, path: str, options: ConnectionOptions, body: Mapping[str, Any] | None = None
) -> tuple[int, Any]:
    """Asks a route of a server, and leaves what its status means to the caller.

    Args:
        base_url: Where the server is.
        path: The route.
        options: As for ``fetch_schema``.
        body: Sent as JSON by POST; None asks by GET.

    Returns:
        The status and the JSON of the answer; an answer with an error status may be text.

    Raises:
        OpenEnvGymError: As for ``fetch_schema``, but for error statuses other than 401 and 403.
    """
    url = http_url(base_url, path)
    status, answer = await _ask(url, options, body)
    try:
        return status, json_codec.decode(answer)
    except errors.InvalidJson as error:
        if status == httpx.codes.OK:
            raise errors.UnexpectedReply(f"{shown(url)} did not answer JSON: {error}.") from error
        return status, answer.decode("utf-8", "replace")


async def _fetch(base_url: str, path: str, options: ConnectionOptions, model: type[_M]) -> _M:
    url = http_url(base_url, path)
    status, answer = await _ask(url, options)
    if status != httpx.codes.OK:
        raise errors.ConnectError(f"{shown(url)} answered HTTP {status}. Check base_url.")
    body = _object(answer, url)
    # A later server's new key is no error, even where our own servers must not add one.
    known = {field.alias or name for name, field in model.model_fields.items()}
    closed = model.model_config.get("extra") == "forbid"
    try:
        return model.model_validate({key: value for key, value in body.items() if key in known or not closed})
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise errors.UnexpectedReply(f"{shown(url)} answered wrongly at {where!r}: {fault['msg']}.") from error


async def _ask(url: str, options: ConnectionOptions, body: Mapping[str, Any] | None = None) -> tuple[int, bytes]:
    verify = _verify(url, options)
    proxied = not is_loopback(url) if options.use_proxy is None else options.use_proxy
    try:
        async with (
            # Each wait within its limit is not enough: a server may send a byte at a time.
            asyncio.timeout(options.connect_timeout),
            httpx.AsyncClient(
                headers=options.request_headers(),
                timeout=options.connect_timeout,
                trust_env=proxied,
                verify=verify,
            ) as client,
            client.stream("GET" if body is None else "POST", url, json=body) as response,
        ):
            _check_authorized(response.status_code, url, options)
            return response.status_code, await _body(response, url, options)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise errors.ConnectTimeout(
            f"{shown(url)} did not answer within {options.connect_timeout:g} s. Check that the server is up, or raise "
            "the connect time-out."
        ) from first_cause(error)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise errors.ConfigurationError(f"{shown(url)} is no address: {error}.") from None
    except (httpx.HTTPError, OSError, ImportError, ValueError) as error:
        cause = first_cause(error)
        raise errors.ConnectError(_unreachable(cause, shown(url))) from cause


def _unreachable(cause: BaseException, where: str) -> str:
    remedy = "Correct base_url, or start the server."
    if isinstance(cause, ConnectionRefusedError):
        return f"{where} refused the connection: no server listens there. Start it, or correct base_url."
    if isinstance(cause, socket.gaierror):
        return f"{where} cannot be reached: its host is not known ({cause.strerror}). Correct base_url."
    if isinstance(cause, ssl.SSLError):
        if is_plain_http(cause):
            return f"{where} does not speak TLS. Write http:// in base_url, or give the port of TLS."
        remedy = "For a certificate of your own set SSL_CERT_FILE; for a server without TLS write http:// in base_url."
    elif isinstance(cause, httpx.RemoteProtocolError):
        remedy = "What answers there is no HTTP server, or one of TLS: correct base_url, or write https:// in it."
    return f"{where} cannot be reached: {str(cause) or type(cause).__name__}. {remedy}"


async def _body(response: httpx.Response, url: str, options: ConnectionOptions) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > options.max_frame_bytes:
            raise errors.FrameTooLarge(f"{shown(url)} answered more than {options.max_frame_bytes} bytes.")
    return bytes(body)


def _check_authorized(status: int, url: str, options: ConnectionOptions) -> None:
    if status in (401, 403):
        advice = "Give the server's token with token=." if options.token is None else "The token is not this server's."
        raise errors.Unauthorized(f"{shown(url)} refused the request with HTTP {status}. {advice}")


def _object(text: bytes, url: str) -> dict[str, Any]:
    try:
        value = json_codec.decode(text)
    except errors.InvalidJson as error:
        raise errors.UnexpectedReply(f"{shown(url)} did not answer JSON: {error}.") from error
    if not isinstance(value, dict):
        raise errors.UnexpectedReply(f"{shown(url)} answered a {type(value).__name__} where an object belongs.")
    return value


def _verify(url: str, options: ConnectionOptions) -> ssl.SSLContext | bool:
    # Without TLS there is nothing to verify, and loading the certificates takes tens of milliseconds.
    return tls_context(options.ca_file) if url.startswith("https:") else False
