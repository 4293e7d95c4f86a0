"""What was seen of the processes while they ran, and whether it grew."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

MOST_GROWTH = 0.02
"""Of resident memory, from the beginning of the last two thirds to their end."""

_SHARE = 6
"""Beginning and end are the medians of the first and the last of so many parts of the last two thirds."""


@dataclass(frozen=True)
class Held:
    """What one end holds of the machine; of several processes the sum.

    Attributes:
        resident: Bytes of memory.
        descriptors: Open files and sockets.
        threads: Running threads.
    """

    resident: int
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Record:
    """What was seen at one moment.

    Attributes:
        at: Seconds since the beginning.
        client: What the client's process held.
        server: What the servers' processes held.
        cpu: Seconds of the processor that all of them have used so far.
        steps: All lanes' steps so far.
    """

    at: float
    client: Held
    server: Held
    cpu: float
    steps: int


@dataclass(frozen=True)
class Check:
    """One thing that must not grow.

    Attributes:
        end: ``client`` or ``server``.
        what: A field of ``Held``.
        before: Its median at the beginning of the last two thirds.
        after: Its median at their end.
        most: What ``after`` may be.
    """

    end: str
    what: str
    before: float
    after: float
    most: float

    @property
    def kept(self) -> bool:
        """Whether it did not grow."""
        return self.after <= self.most


def held(pids: Sequence[int]) -> Held:
    """What processes hold together."""
    processes = [psutil.Process(pid) for pid in pids]
    return Held(
        sum(process.memory_info().rss for process in processes),
        sum(process.num_fds() for process in processes),
        sum(process.num_threads() for process in processes),
    )


def checks_of(records: Sequence[Record]) -> list[Check]:
    """What must not grow, from at least one record on."""
    last = [record for record in records if record.at >= records[-1].at / 3]
    part = max(1, len(last) // _SHARE)
    return [
        _check(end, what, last[:part], last[-part:])
        for end in ("client", "server")
        for what in ("resident", "descriptors", "threads")
    ]


def _check(end: str, what: str, first: Sequence[Record], final: Sequence[Record]) -> Check:
    before, after = (
        statistics.median(getattr(getattr(record, end), what) for record in records) for records in (first, final)
    )
    return Check(end, what, before, after, before * (1 + MOST_GROWTH) if what == "resident" else before)
