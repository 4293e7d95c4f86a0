"""A log file that keeps the end of what was written and never grows past its limit."""

from __future__ import annotations

import contextlib
from pathlib import Path

LIMIT_BYTES = 1024 * 1024
"""What a server's log may take on disk: the current file and the one before it, half each."""

_LONGEST_LINE = 4096
_LONGEST_TAIL = 65536
"""Characters. What is told of a log goes into error messages, also of one that has no end of a line."""


class BoundedLog:
    """Writes to a file; when that is full, it becomes the earlier half and an empty one begins.

    Args:
        path: The current file. The earlier one has ``.1`` after its name.
        limit: Bytes that both may take together.
    """

    def __init__(self, path: Path, limit: int = LIMIT_BYTES) -> None:
        self.path = path
        self._half = limit // 2
        self._file = path.open("wb", buffering=0)
        path.chmod(0o600)
        self._size = 0

    def write(self, data: bytes) -> None:
        """Appends the data; on a disk that is full it is dropped, because servers matter more than their logs."""
        with contextlib.suppress(OSError):
            self._append(data)

    def close(self) -> None:
        """Closes the file, which stays."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        if self._size + len(data) > self._half:
            self._file.close()
            self.path.replace(earlier(self.path))
            self._file = self.path.open("wb", buffering=0)
            self.path.chmod(0o600)
            self._size = 0
        self._file.write(data[-self._half :])
        self._size += len(data)


def earlier(path: Path) -> Path:
    """The file that holds what was written before the current one began."""
    return path.with_name(path.name + ".1")


def tail(path: Path, lines: int) -> str:
    """The last lines of a bounded log, or an empty text when there is no such log; very long ones are shortened."""
    text = b""
    for part in (earlier(path), path):
        try:
            text += part.read_bytes()
        except FileNotFoundError:
            # Nothing was written there yet, or the pool has ended and its directory is gone.
            continue
    kept = text.decode("utf-8", errors="replace").splitlines()[-lines:] if lines > 0 else []
    return "\n".join(map(_shortened, kept))[-_LONGEST_TAIL:]


def _shortened(line: str) -> str:
    left_out = len(line) - _LONGEST_LINE
    return line if left_out <= 0 else f"... ({left_out} characters) {line[-_LONGEST_LINE:]}"
