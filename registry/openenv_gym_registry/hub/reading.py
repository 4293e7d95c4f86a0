"""Reads of the Hub by way of the cache on disk."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from openenv_gym_protocol import errors

from openenv_gym.providers.user_cache import cache_root
from openenv_gym_registry.cache import Cached, DiskCache, in_words
from openenv_gym_registry.hub.session import MAX_BYTES, HubSession
from openenv_gym_registry.manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES
from openenv_gym_registry.space_card import TAG

logger = logging.getLogger(__name__)

LISTING_AGE = timedelta(hours=1)
"""How long a listing is used without asking whether it has changed."""

_MAX_PAGES = 50
_LISTED = ("author", "cardData", "lastModified", "likes", "private", "runtime", "sha", "tags")


class HubReader:
    """What the Hub says, newest first and from the cache where it has to be.

    Args:
        session: Who asks.
        cache: Where answers are kept.
        offline: Ask nobody.
        refresh: Ask the Hub even for what was read a moment ago.

    Attributes:
        is_stale: Whether something came from the cache because the Hub could not be asked.
        seen: When the oldest of what was read was told by the Hub; None before anything was read.
    """

    def __init__(
        self,
        session: HubSession | None = None,
        cache: DiskCache | None = None,
        *,
        offline: bool = False,
        refresh: bool = False,
    ) -> None:
        self._session = session or HubSession()
        self._cache = cache or DiskCache(cache_root() / "hub")
        self._offline = offline
        self._refresh = refresh
        self.is_stale = False
        self.seen: datetime | None = None

    def spaces(self, author: str | None = None) -> Iterator[Mapping[str, Any]]:
        """All Spaces tagged ``openenv``, the most liked first.

        Args:
            author: Only this owner's.

        Raises:
            OpenEnvGymError: The Hub cannot be asked and nothing was read before; see ``hub_failures``.
        """
        query: list[tuple[str, str]] = [("filter", TAG), ("sort", "likes"), ("limit", "1000")]
        query += [("author", author)] if author else []
        url: str | None = f"/api/spaces?{urlencode([*query, *(('expand', name) for name in _LISTED)])}"
        for _ in range(_MAX_PAGES):
            if url is None:
                return
            page = self._read(url, "the list of Spaces", LISTING_AGE, list)
            yield from (row for row in page.body if isinstance(row, Mapping) and isinstance(row.get("id"), str))
            url = page.next_url

    def space(self, id: str, revision: str | None = None) -> Mapping[str, Any]:
        """One Space, at its newest or another revision.

        Raises:
            OpenEnvGymError: As for ``spaces``.
        """
        at = f"/revision/{quote(revision, safe='')}" if revision else ""
        what = f"Space {id}{f'@{revision}' if revision else ''}"
        found: Mapping[str, Any] = self._read(f"/api/spaces/{id}{at}", what, timedelta(0), dict).body
        if not isinstance(found.get("id"), str):
            raise errors.ProtocolFailure(f"The Hub's answer for {what} does not say which Space it is about.")
        return found

    def manifest(self, id: str, sha: str) -> str | None:
        """The text of a Space's ``openenv.yaml`` at a commit, which never changes; None where it has none.

        Raises:
            OpenEnvGymError: As for ``spaces``.
        """
        url = f"/spaces/{id}/resolve/{quote(sha, safe='')}/{MANIFEST_NAME}"
        try:
            text: str = self._read(url, f"{MANIFEST_NAME} of {id}", timedelta.max, str).body
        except errors.SpaceNotFound:
            return None
        return text

    def _read(self, url: str, what: str, max_age: timedelta, kind: type) -> Cached:
        key = self._key(url)
        cached = self._cache.read(key)
        if cached is not None and not isinstance(cached.body, kind):
            cached = None  # no answer of the Hub's
        if self._offline:
            if cached is None:
                raise errors.ConnectError(f"{what} was never read from the Hub: nothing is there offline.")
            return self._note(cached)
        if cached is not None and cached.age <= max_age and (not self._refresh or max_age == timedelta.max):
            return self._note(cached)
        try:
            return self._note(self._ask(key, url, what, cached, kind))
        except (errors.ConnectError, errors.ConnectTimeout, errors.RateLimited) as error:
            if cached is None:
                raise
            self.is_stale = True
            logger.warning("%s What is used was read %s ago.", error.message, in_words(cached.age))
            return self._note(cached)

    def _ask(self, key: str, url: str, what: str, cached: Cached | None, kind: type) -> Cached:
        limit = MAX_MANIFEST_BYTES if kind is str else MAX_BYTES
        answer = self._session.get(url, what=what, etag=cached.etag if cached else None, max_bytes=limit)
        now = datetime.now(UTC)
        if answer.body is None:
            if cached is None:
                raise errors.ProtocolFailure(f"The Hub says that {what} has not changed, but was not asked that.")
            fresh = Cached(cached.body, cached.etag, cached.next_url, now)
        else:
            fresh = Cached(_decoded(answer.body, what, kind), answer.etag, answer.next_url, now)
        self._cache.write(key, fresh)
        return fresh

    def _key(self, url: str) -> str:
        # Another user may see other Spaces.
        token = self._session.token
        user = hashlib.sha256(token.encode()).hexdigest()[:16] if token else "anybody"
        return f"{self._session.endpoint} {user} {url}"

    def _note(self, cached: Cached) -> Cached:
        self.seen = cached.seen if self.seen is None else min(self.seen, cached.seen)
        return cached


def _decoded(body: bytes, what: str, kind: type) -> Any:
    try:
        text = body.decode("utf-8")
        value = text if kind is str else json.loads(text)
    except (ValueError, RecursionError) as error:
        form = "text" if kind is str else "JSON"
        raise errors.ProtocolFailure(f"The Hub's answer for {what} is no {form}: {error}.") from error
    if not isinstance(value, kind):
        raise errors.ProtocolFailure(f"The Hub's answer for {what} is a {type(value).__name__}, not a {kind.__name__}.")
    return value
