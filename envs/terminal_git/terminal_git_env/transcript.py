"""What a terminal prints, kept within a limit and made readable."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, places, modes
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # texts for the terminal itself, such as its title
    r"|\x1b[ -/]*[0-~]?"
)
_MARKERS = re.compile(r"\x1e[0-9a-f]{32}(?:\t\d+\t[^\x1e]*)?\x1e")
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Transcript:
    """The first and the last of what was printed, in bounded memory.

    Args:
        limit: The most bytes that are kept.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Adds what was printed next."""
        self._total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """The bytes that ``text`` does not show."""
        return max(self._total - len(self._head) - self._half, 0)

    def kept(self) -> bytes:
        """What is kept, as it was printed."""
        return bytes(self._head + self._tail[-self._half :])

    def text(self) -> str:
        """What is kept, as a reader sees it; a line tells how much is missing."""
        tail = bytes(self._tail[-self._half :])
        if not self.left_out:
            return readable(bytes(self._head) + tail)
        missing = f"\n[... {self.left_out} bytes left out ...]\n"
        return readable(bytes(self._head)) + missing + readable(tail)


def readable(data: bytes) -> str:
    """Bytes for a terminal as plain text: without control sequences and what was overwritten on the same line."""
    text = data.decode("utf-8", "replace")
    text = _SEQUENCES.sub("", _MARKERS.sub("", text))
    text = text.replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = _OVERSTRUCK.sub("", "\n".join(lines))
    return _CONTROL.sub("", text)
