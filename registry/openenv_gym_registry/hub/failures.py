"""The Hub's refusals and the network's failures as this project's errors, each with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from openenv_gym_protocol import errors

# Of the library that carries the requests, which is httpx or httpx2 by release: the base of all its failures.
TransportError: type[Exception] = HfHubHTTPError.__mro__[1]

_TOKENS_PAGE = "https://huggingface.co/settings/tokens"
_LOG_IN = "set HF_TOKEN, or log in with `hf auth login`"
_MOST_WORDS = 1_000
_QUOTA_RESET = re.compile(r"\bt=(\d+)")


@contextmanager
def hub_failures(what: str) -> Iterator[None]:
    """Raises what huggingface_hub raises as ours.

    Args:
        what: What was asked for, as messages call it: ``owner/name`` of a Space, or words.

    Raises:
        SpaceNotFound: There is no such Space, or it is private.
        Unauthorized: The token is wrong, is missing, or may not do that; or the Space is gated.
        ConfigurationError: There is no such revision.
        RateLimited: The Hub wants to be left alone for a while.
        ConnectError: No network, or the Hub is out of order.
        ConnectTimeout: It did not answer in time.
    """
    try:
        yield
    except LocalTokenNotFoundError as error:
        raise errors.Unauthorized(f"The Hub wants to know who you are for {what}: {_LOG_IN}.") from error
    except OfflineModeIsEnabled as error:
        raise errors.ConnectError(
            f"HF_HUB_OFFLINE is set, so {what} cannot be asked for. Unset it to ask the Hub."
        ) from error
    except HfHubHTTPError as error:
        raise refusal(error, what) from error
    except TransportError as error:
        raise _unreachable(error, what) from error


def refusal(error: HfHubHTTPError, what: str) -> errors.OpenEnvGymError:
    """What an answer of the Hub with an error status means."""
    status, headers = error.response.status_code, error.response.headers
    if isinstance(error, GatedRepoError):
        return errors.Unauthorized(
            f"{what} is gated: ask for access on its page on the Hub with your browser, and {_LOG_IN}."
        )
    if isinstance(error, DisabledRepoError):
        return errors.SpaceNotFound(f"The Hub has disabled {what}; its page may say why.")
    if isinstance(error, RevisionNotFoundError):
        return errors.ConfigurationError(f"{what}: there is no such revision. Its page on the Hub lists the commits.")
    if isinstance(error, RepositoryNotFoundError) or status == 404:
        return errors.SpaceNotFound(
            f"The Hub has no {what}, or does not show it to you. Check the name; if it is private, {_LOG_IN}."
        )
    if status == 401:
        return errors.Unauthorized(
            f"The Hub refused the token for {what}: it is wrong or has expired. Make another at {_TOKENS_PAGE}, and "
            f"{_LOG_IN}; HF_TOKEN goes before the log-in."
        )
    if status == 403:
        return errors.Unauthorized(
            f"The Hub's token may not do that with {what}: {said(error)} Make one that may at {_TOKENS_PAGE}."
        )
    if status == 429:
        seconds = retry_after(headers)
        wait = "a few minutes" if seconds is None else f"{seconds:g} s"
        return errors.RateLimited(
            f"The Hub was asked too often (HTTP 429, {what}). Wait {wait}; with a token it allows more: {_LOG_IN}.",
            retry_after=seconds,
        )
    return errors.ConnectError(f"The Hub answered HTTP {status} for {what}: {said(error)} Try again later.")


def said(error: HfHubHTTPError) -> str:
    """The Hub's own words, as a sentence."""
    text = str(error.server_message or error.response.headers.get("X-Error-Message") or "it does not say why").strip()
    text = text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]}..."
    return text if text.endswith(".") else f"{text}."


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Seconds until the Hub may be asked again, from its answer's headers; None where it does not say."""
    told = str(headers.get("Retry-After", "")).strip()
    if told.isascii() and told.isdigit():
        return float(told)
    if told:
        try:
            until = parsedate_to_datetime(told).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    quota = _QUOTA_RESET.search(str(headers.get("ratelimit", "")))
    return float(quota[1]) if quota else None


def _unreachable(error: Exception, what: str) -> errors.OpenEnvGymError:
    if "Timeout" in type(error).__name__:
        return errors.ConnectTimeout(f"The Hub did not answer in time for {what}. Try again.")
    why = str(error).rstrip(".") or type(error).__name__
    return errors.ConnectError(f"The Hub cannot be reached for {what}: {why}. Is this machine on the network?")
