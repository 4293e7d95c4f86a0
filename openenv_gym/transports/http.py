"""What a client asks by plain HTTP: the schemas and the metadata of an environment."""

from __future__ import annotations

import ssl
from typing import Any, TypeVar

import httpx
from openenv_gym_protocol import errors
from openenv_gym_protocol.bodies import Metadata, Schemas
from pydantic import BaseModel, ValidationError

from openenv_gym.transports.address import http_url, is_loopback
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.failures import shown
from openenv_gym.transports.tls import tls_context

_M = TypeVar("_M", bound=BaseModel)


async def fetch_schema(base_url: str, options: ConnectionOptions) -> Schemas:
    """Asks a server for the schemas of its environment.

    Args:
        base_url: Where the server is.
        options: Token, headers, proxy and certificates; ``connect_timeout`` bounds every wait.

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


async def _fetch(base_url: str, path: str, options: ConnectionOptions, model: type[_M]) -> _M:
    url = http_url(base_url, path)
    body = _json(await _get(url, options), url)
    # A later server's new key is no error, even where our own servers must not add one.
    known = {field.alias or name for name, field in model.model_fields.items()}
    closed = model.model_config.get("extra") == "forbid"
    try:
        return model.model_validate({key: value for key, value in body.items() if key in known or not closed})
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise errors.UnexpectedReply(f"{shown(url)} answered wrongly at {where!r}: {fault['msg']}.") from error


async def _get(url: str, options: ConnectionOptions) -> httpx.Response:
    verify = _verify(url, options)
    proxied = not is_loopback(url) if options.use_proxy is None else options.use_proxy
    try:
        async with httpx.AsyncClient(
            headers=options.request_headers(),
            timeout=options.connect_timeout,
            trust_env=proxied,
            verify=verify,
        ) as client:
            response = await client.get(url)
    except httpx.TimeoutException as error:
        raise errors.ConnectTimeout(
            f"{shown(url)} did not answer within {options.connect_timeout:g} s. Check that the server is up, or raise "
            "the connect time-out."
        ) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise errors.ConfigurationError(f"{shown(url)} is no address: {error}.") from error
    except (httpx.HTTPError, OSError, ImportError, ValueError) as error:
        raise errors.ConnectError(f"{shown(url)} cannot be reached: {error or type(error).__name__}.") from error
    _check_status(response, url, options)
    return response


def _check_status(response: httpx.Response, url: str, options: ConnectionOptions) -> None:
    status = response.status_code
    if status in (401, 403):
        advice = "Give the server's token with token=." if options.token is None else "The token is not this server's."
        raise errors.Unauthorized(f"{shown(url)} refused the request with HTTP {status}. {advice}")
    if status != httpx.codes.OK:
        raise errors.ConnectError(f"{shown(url)} answered HTTP {status}. Check base_url.")


def _json(response: httpx.Response, url: str) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError as error:
        raise errors.UnexpectedReply(f"{shown(url)} did not answer JSON: {error}.") from error
    if not isinstance(body, dict):
        raise errors.UnexpectedReply(f"{shown(url)} answered a {type(body).__name__} where an object belongs.")
    return body


def _verify(url: str, options: ConnectionOptions) -> ssl.SSLContext | bool:
    # Without TLS there is nothing to verify, and loading the certificates takes tens of milliseconds.
    return tls_context(options.ca_file) if url.startswith("https:") else False
