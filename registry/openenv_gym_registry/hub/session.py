"""Asking the Hub with huggingface_hub's own session: its proxies, headers, tokens and errors.

The library's listing functions try again for half a minute when there is no network, and know no ETag; so what is read
by address is asked for here, and the library does all the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from huggingface_hub import get_session, get_token, hf_raise_for_status
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # its __all__ leaves it out
from openenv_gym_protocol import errors

from openenv_gym_registry.hub.failures import hub_failures
from openenv_gym_registry.space_address import hub_url, sendable_token

ASK_SECONDS = 20.0
"""How long the Hub may be silent."""

ANSWER_SECONDS = 120.0
"""How long it may go on answering: it may send a byte at a time."""

MAX_BYTES = 32 * 2**20
MAX_ERROR_BYTES = 2**20
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")
_REDIRECTS = 3


@dataclass(frozen=True)
class HubAnswer:
    """What the Hub answered.

    Attributes:
        body: The bytes; None: not changed since the ETag that was sent.
        etag: By which it may be asked again.
        next_url: The next page of a listing, if there is one.
    """

    body: bytes | None
    etag: str | None
    next_url: str | None


class HubSession:
    """Reads from one Hub as one user.

    Args:
        token: The user's token; None for the one that huggingface_hub finds, False for none.
        endpoint: The Hub; None for ``HF_ENDPOINT``.
    """

    def __init__(self, token: str | bool | None = None, endpoint: str | None = None) -> None:
        self.endpoint = (endpoint or hub_url()).rstrip("/")
        self._token = token

    @property
    def token(self) -> str | None:
        """The token that is sent.

        Raises:
            Unauthorized: It can be none.
        """
        if self._token is False:
            return None
        return sendable_token(self._token) if isinstance(self._token, str) else library_token()

    def get(
        self,
        url: str,
        *,
        what: str,
        params: Mapping[str, Any] | None = None,
        etag: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> HubAnswer:
        """Reads an address of this Hub.

        Args:
            url: The address, or a path below the endpoint.
            what: What is asked for, for messages.
            params: The query.
            etag: What is there already.
            max_bytes: The largest answer accepted.

        Raises:
            OpenEnvGymError: See ``hub_failures``; and ProtocolFailure when it answers too much or sends elsewhere.
        """
        url = self._own(url if "://" in url else f"{self.endpoint}{url}", what)
        headers: dict[str, str] = build_hf_headers(token=self.token or False)
        if etag is not None:
            headers["If-None-Match"] = etag
        with hub_failures(what):
            for _ in range(_REDIRECTS):
                with get_session().stream(
                    "GET", url, params=params, headers=headers, timeout=ASK_SECONDS, follow_redirects=False
                ) as response:
                    if response.has_redirect_location:
                        url, params = self._own(urljoin(url, response.headers["Location"]), what), None
                        continue
                    return _answer(response, what, max_bytes)
        raise errors.ProtocolFailure(f"The Hub redirects without end for {what}.")

    def _own(self, url: str, what: str) -> str:
        """The address, which must be the Hub's own: the token is for no other host."""
        if urlsplit(url)[:2] != urlsplit(self.endpoint)[:2]:
            raise errors.ProtocolFailure(
                f"For {what} the Hub sends to {urlsplit(url).netloc}, which is not {self.endpoint}; it was not asked."
            )
        return url


def library_token() -> str | None:
    """The token that huggingface_hub finds: ``HF_TOKEN``, or that of ``hf auth login``.

    Raises:
        Unauthorized: It can be none.
    """
    return sendable_token(get_token())


def _answer(response: Any, what: str, max_bytes: int) -> HubAnswer:
    if response.status_code >= 400:
        said = b"".join(_body(response, what, MAX_ERROR_BYTES))
        headers = {name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BODY}
        response = type(response)(response.status_code, headers=headers, content=said, request=response.request)
    hf_raise_for_status(response)
    etag = response.headers.get("ETag")
    if response.status_code == 304:
        return HubAnswer(None, etag, None)
    body = b"".join(_body(response, what, max_bytes))
    return HubAnswer(body, etag, response.links.get("next", {}).get("url"))


def _body(response: Any, what: str, max_bytes: int) -> Iterator[bytes]:
    """The parts of an answer, which may be neither endless nor without end."""
    size, until = 0, time.monotonic() + ANSWER_SECONDS
    for part in response.iter_bytes():
        size += len(part)
        if size > max_bytes:
            raise errors.ProtocolFailure(
                f"The Hub answered HTTP {response.status_code} with more than {max_bytes} bytes for {what}."
            )
        if time.monotonic() > until:
            raise errors.ConnectTimeout(
                f"The Hub had not answered in full after {ANSWER_SECONDS:g} s for {what}. Try again."
            )
        yield part
