"""The websockets library's failures as this project's errors, each with what to do about it."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from openenv_gym_protocol import errors
from openenv_gym_protocol.websocket_frames import Close
from websockets.exceptions import InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI, ProxyError

from openenv_gym.transports.base import ConnectionOptions

CLOSE_TOO_BIG = 1009
CLOSE_RESTARTING = 1012
CLOSE_TRY_LATER = 1013


def shown(url: str) -> str:
    """A URL without what may be secret in it: the query and the user's name and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def handshake_failure(error: Exception, url: str, options: ConnectionOptions) -> errors.OpenEnvGymError:
    """Why no connection could be opened.

    Args:
        error: What the websockets library or the operating system raised.
        url: The WebSocket URL asked for.
        options: How the connection was asked for.
    """
    where = shown(url)
    if isinstance(error, InvalidStatus):
        return _refused(error, where, options)
    if isinstance(error, TimeoutError):
        return errors.ConnectTimeout(
            f"{where} did not accept a connection within {options.connect_timeout:g} s. Check that the server is up "
            "and the address is right, or raise the connect time-out."
        )
    if nobody_listens(error):
        return errors.ConnectError(
            f"{where} refused the connection: no server listens there. Start it, or correct base_url."
        )
    if isinstance(error, ssl.SSLError) and is_plain_http(error):
        return errors.ConnectError(
            f"{where} does not speak TLS. Write http:// or ws:// in base_url, or give the port of TLS."
        )
    if isinstance(error, ssl.SSLError):
        return errors.ConnectError(
            f"No secure connection to {where}: {error}. For a certificate of your own give ca_file=; for a server "
            "without TLS use ws:// or http://."
        )
    if isinstance(error, InvalidProxy | ProxyError | ImportError):
        return errors.ConnectError(
            f"No connection to {where} through the proxy of the environment: {error}. Set use_proxy=False, or list "
            "the host in NO_PROXY."
        )
    if isinstance(error, InvalidURI):
        return errors.ConfigurationError(f"{where} is no WebSocket address: {error}.")
    if isinstance(error, InvalidHandshake | EOFError):
        return errors.ConnectError(f"What answers at {where} does not speak WebSocket: {error}. Check base_url.")
    return errors.ConnectError(f"No connection to {where}: {error or type(error).__name__}. Check base_url.")


def nobody_listens(error: BaseException | None) -> bool:
    """Whether a connection failed because no process listens at its address."""
    return isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error)


def is_plain_http(error: ssl.SSLError) -> bool:
    """Whether a TLS handshake failed because the server answered it in plain HTTP."""
    plain = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
    return getattr(error, "reason", None) in plain


def first_cause(error: BaseException) -> BaseException:
    """The operating system's or TLS's own error below a library's layers, cut off from them.

    Chained as they are, one refused connection prints four tracebacks.

    Returns:
        The error without its traceback and what it was raised from; the given one when none of the system's is below.
    """
    found, below = error, error.__cause__ or error.__context__
    while below is not None:
        found = below if isinstance(below, OSError) else found
        below = below.__cause__ or below.__context__
    found.__cause__, found.__suppress_context__ = None, True
    return found.with_traceback(None)


def closing_failure(
    url: str, *, violation: Close | None, received: Close | None, sent: Close | None, broken_by: Exception | None
) -> errors.OpenEnvGymError:
    """Why an open connection ended.

    Args:
        url: Its WebSocket URL.
        violation: With what this end closed it because the server broke the rules.
        received: With what the server closed it, if it did so first.
        sent: With what this end closed it or answered.
        broken_by: What the operating system reported, when it broke the connection.
    """
    where = shown(url)
    if violation is not None and violation.code == CLOSE_TOO_BIG:
        return errors.FrameTooLarge(
            f"{where} sent a frame above this client's limit ({violation.reason}). Raise max_message_size_mb, or "
            "let the environment observe less."
        )
    if violation is not None:
        return errors.ProtocolFailure(f"{where} broke the WebSocket protocol: {violation.reason}.")
    if received is not None:
        return _closed_by_server(received.code, received.reason, where)
    if sent is not None:
        return errors.ConnectionLost(f"This end closed the connection to {where}: {sent.reason or 'close'}.")
    cause = f" ({broken_by})" if broken_by else ""
    return errors.ConnectionLost(
        f"The connection to {where} broke without a goodbye{cause}: the server died or the network failed. "
        f"{errors.HOW_TO_READ_THE_LOG}"
    )


def _refused(error: InvalidStatus, where: str, options: ConnectionOptions) -> errors.OpenEnvGymError:
    status = error.response.status_code
    if status in (401, 403):
        if options.token is None:
            advice = "Give the server's token with token=. (403 may also mean that it has no /ws: check base_url.)"
        else:
            advice = "The token is not this server's."
        return errors.Unauthorized(f"{where} refused the connection with HTTP {status}. {advice}")
    if 300 <= status < 400:
        target = error.response.headers.get("Location", "nowhere")
        return errors.ConnectError(
            f"{where} redirects to {shown(target)}. Redirects are not followed, so that no token goes astray: use "
            "that address as base_url."
        )
    if status == 404:
        return errors.ConnectError(f"There is no OpenEnv server at {where} (HTTP 404). Check base_url and its path.")
    return errors.ConnectError(f"{where} answered HTTP {status} instead of opening a session.")


def _closed_by_server(code: int, reason: str, where: str) -> errors.OpenEnvGymError:
    said = f": {reason}" if reason else ""
    if code == CLOSE_TOO_BIG:
        return errors.FrameTooLarge(f"{where} refused a frame as too large (close 1009){said}. Send a smaller action.")
    if code == CLOSE_TRY_LATER:
        return errors.CapacityReached(f"{where} is full (close 1013){said}. Wait, or start another server.")
    if code == CLOSE_RESTARTING:
        return errors.ConnectionLost(f"{where} is shutting down (close 1012){said}.", close_code=code)
    return errors.ConnectionLost(f"{where} closed the session (close {code}){said}.", close_code=code)
