"""What was read from the Hub, kept on disk: for use without a network, and to ask for changes only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from openenv_gym.providers.user_cache import is_own_folder


@dataclass(frozen=True)
class Cached:
    """An answer that was read before.

    Attributes:
        body: The JSON of it.
        etag: By which the Hub says whether it has changed.
        next_url: The next page of a listing.
        seen: When the Hub said so last.
    """

    body: Any
    etag: str | None
    next_url: str | None
    seen: datetime

    @property
    def age(self) -> timedelta:
        """How long ago that was."""
        return age_of(self.seen)


class DiskCache:
    """Answers by key, a file each, readable by the user alone: private Spaces may be among them.

    Args:
        folder: Where; made when something is written. One that is another user's, or open to everybody, is as none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str) -> Cached | None:
        """The answer of a key; None where there is none that can be read."""
        if not is_own_folder(self._folder):
            return None
        try:
            told = json.loads(self._path(key).read_text(encoding="utf-8"))
            if told["key"] != key:
                return None
            # Without a time zone, it could not be compared with now.
            seen = datetime.fromisoformat(told["seen"]).astimezone(UTC)
            return Cached(told["body"], _text(told["etag"]), _text(told["next_url"]), seen)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            # Not there, torn by a full disk or of another release: it is asked for anew.
            return None

    def write(self, key: str, cached: Cached) -> None:
        """Keeps an answer. A disk that is full or read-only keeps nothing, and nobody minds."""
        told = {"key": key, "etag": cached.etag, "next_url": cached.next_url, "seen": cached.seen.isoformat()}
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if is_own_folder(self._folder):
                write_whole(self._path(key), json.dumps({**told, "body": cached.body}))

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def age_of(seen: datetime) -> timedelta:
    """How long ago something was seen; a clock that was set back makes it no younger than now."""
    return max(datetime.now(UTC) - seen, timedelta(0))


def in_words(age: timedelta) -> str:
    """An age as people say it: ``3 days``."""
    seconds = int(age.total_seconds())
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{max(seconds, 0)} s"


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that readers see the old one or the new one, never a part.

    Raises:
        OSError: It cannot be written; the old one is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123  (a descriptor has no path)
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
