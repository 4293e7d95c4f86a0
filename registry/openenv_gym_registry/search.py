"""Finding environments on the Hub: ``search`` by words, ``lookup`` of one, ``sync`` of the ids that are known here."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_registry.cache import age_of, write_whole
from openenv_gym_registry.catalogue import known_spaces, synced_spaces_path
from openenv_gym_registry.hub import require_hub
from openenv_gym_registry.manifest import MANIFEST_NAME, Manifest, parse_manifest
from openenv_gym_registry.source import parse_space, space_with_id

if TYPE_CHECKING:
    from openenv_gym_registry.hub.reading import HubReader

logger = logging.getLogger(__name__)

ORGANISATION = "openenv"
"""Whose Spaces have an id of their own."""


@dataclass(frozen=True, kw_only=True)
class SpaceInfo:
    """What the Hub says of a Space.

    Attributes:
        id: ``owner/name``.
        title: What its page is headed.
        author: Its owner.
        likes: How many people like it.
        stage: Such as ``RUNNING`` or ``SLEEPING``; None where the Hub does not say.
        hardware: What it runs on, such as ``cpu-basic``.
        revision: The full id of the commit.
        private: Whether only its owner sees it.
        tags: Its tags.
        updated: When it was last changed.
        seen: When the Hub said all this.
        manifest: Its ``openenv.yaml``; None where it has none, has a wrong one, or was not asked for it.
        problem: What is wrong with its ``openenv.yaml``.
        spaces: The exact Gymnasium spaces as data, where the manifest has them.
    """

    id: str
    title: str
    author: str
    likes: int
    stage: str | None
    hardware: str | None
    revision: str | None
    private: bool
    tags: tuple[str, ...]
    updated: datetime | None
    seen: datetime
    manifest: Manifest | None = None
    problem: str | None = None
    spaces: Mapping[str, Any] | None = None

    @property
    def age(self) -> timedelta:
        """How long ago the Hub said so."""
        return age_of(self.seen)


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        spaces: The Spaces, the most liked first.
        age: How old the listing is; None where nothing was read.
        is_stale: Whether it is old because the Hub could not be asked.
        total: How many there are, of which ``spaces`` may be the first ones.
    """

    spaces: tuple[SpaceInfo, ...]
    age: timedelta | None
    is_stale: bool = False
    total: int = 0


@dataclass(frozen=True)
class SyncReport:
    """What ``sync`` has changed.

    Attributes:
        added: Gymnasium ids that were not known before.
        known: All ids of Spaces that are known now.
        missing: Ids that are known here, but whose Space the Hub does not list any more. They stay registered.
        path: The file that was written.
    """

    added: tuple[str, ...]
    known: tuple[str, ...]
    missing: tuple[str, ...]
    path: Path = field(repr=False)


def search(words: str = "", *, limit: int = 20, offline: bool = False, refresh: bool = False) -> SearchResult:
    """Finds the Spaces tagged ``openenv`` that all of the words fit: in their id, title, owner or tags.

    The listing is kept on disk for an hour, then the Hub is asked for what has changed. When it cannot be asked, what
    is there is used, and ``is_stale`` says so.

    Args:
        words: What to look for; nothing for all.
        limit: How many to return at most.
        offline: Ask nobody.
        refresh: Ask the Hub even within that hour.

    Raises:
        OpenEnvGymError: The Hub cannot be asked and nothing was read before; the message says what to do.
        ProviderError: huggingface_hub is not installed.
    """
    if limit < 1:
        raise ConfigurationError(f"limit must be at least 1, not {limit}.")
    reader = _reader(offline=offline, refresh=refresh)
    wanted = words.casefold().split()
    rows = [row for row in reader.spaces() if all(word in _searched(row) for word in wanted)]
    seen = reader.seen or datetime.now(UTC)
    spaces = tuple(_info(row, seen) for row in rows[:limit])
    age = None if reader.seen is None else age_of(reader.seen)
    return SearchResult(spaces, age, reader.is_stale, len(rows))


def lookup(text: str, *, offline: bool = False) -> SpaceInfo:
    """What the Hub says of one Space, with its ``openenv.yaml``.

    Args:
        text: The Space, in any way that people write one; with ``@revision`` at that one.
        offline: Ask nobody; ``age`` says how old it is.

    Raises:
        ConfigurationError: It names no Space, only its host, or has no such revision.
        SpaceNotFound: There is none, or it is private.
        OpenEnvGymError: The Hub cannot be asked; the message says what to do.
        ProviderError: huggingface_hub is not installed.
    """
    space, id = space_with_id(text)
    reader = _reader(offline=offline)
    row = reader.space(id, space.revision)
    seen = reader.seen or datetime.now(UTC)
    manifest, problem = _manifest(reader, id, row.get("sha"))
    return _info(row, seen, manifest, problem)


def sync(path: Path | None = None) -> SyncReport:
    """Asks the Hub which Spaces the openenv organisation has, and registers an id for each: ``openenv/<name>``.

    The list is kept in the cache, so that the ids are there in later processes too.

    Args:
        path: Another file to write, such as the ``spaces.json`` of this package.

    Raises:
        OpenEnvGymError: The Hub cannot be asked; nothing has changed then.
        ProviderError: huggingface_hub is not installed.
    """
    from openenv_gym_registry.registration import register_known_spaces

    reader = _reader(refresh=True)
    listed = sorted({row["id"] for row in reader.spaces(author=ORGANISATION)})
    before = {known.id for known in known_spaces()}
    found = [id for id in listed if id.startswith(f"{ORGANISATION}/") and _is_name(id)]
    path = path or synced_spaces_path()
    rows = [json.dumps({"id": id, "space": id}) for id in found]
    write_whole(path, "[\n " + ",\n ".join(rows) + "\n]\n" if rows else "[]\n")
    known_spaces.cache_clear()
    register_known_spaces()
    added = tuple(id for id in found if id not in before)
    known = {entry.id for entry in known_spaces()}
    return SyncReport(added, tuple(sorted(known)), tuple(sorted(known - set(found))), path)


def _reader(*, offline: bool = False, refresh: bool = False) -> HubReader:
    require_hub()
    from openenv_gym_registry.hub.reading import HubReader

    return HubReader(offline=offline, refresh=refresh)


def _is_name(id: str) -> bool:
    try:
        return parse_space(id).id == id
    except ConfigurationError:
        return False


def _manifest(reader: HubReader, id: str, sha: Any) -> tuple[Manifest | None, str | None]:
    text = reader.manifest(id, sha) if isinstance(sha, str) else None
    if text is None:
        return None, None
    try:
        return parse_manifest(text, origin=f"{MANIFEST_NAME} of {id}"), None
    except ConfigurationError as error:
        # Somebody else's mistake is no reason to hide what else is known.
        return None, error.message


def _searched(row: Mapping[str, Any]) -> str:
    card = row.get("cardData")
    title = card.get("title") if isinstance(card, Mapping) else ""
    return " ".join([row["id"], str(title or ""), *_tags(row)]).casefold()


def _info(
    row: Mapping[str, Any], seen: datetime, manifest: Manifest | None = None, problem: str | None = None
) -> SpaceInfo:
    card, runtime = _mapping(row.get("cardData")), _mapping(row.get("runtime"))
    id = str(row["id"])
    block = manifest.gymnasium.spaces if manifest is not None else None
    return SpaceInfo(
        id=id,
        title=str(card.get("title") or id.partition("/")[2]),
        author=str(row.get("author") or id.partition("/")[0]),
        likes=row["likes"] if isinstance(row.get("likes"), int) else 0,
        stage=_text(runtime.get("stage")),
        hardware=_text(_mapping(runtime.get("hardware")).get("current")),
        revision=_text(row.get("sha")),
        private=row.get("private") is True,
        tags=_tags(row),
        updated=_time(row.get("lastModified")),
        seen=seen,
        manifest=manifest,
        problem=problem,
        spaces=None if block is None else {"action": block.action, "observation": block.observation},
    )


def _tags(row: Mapping[str, Any]) -> tuple[str, ...]:
    tags = row.get("tags")
    return tuple(map(str, tags)) if isinstance(tags, list) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
