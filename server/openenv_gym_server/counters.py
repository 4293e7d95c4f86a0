"""What the server counts, from which metrics can be read."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

_BUCKETS = 17


@dataclass(slots=True)
class Durations:
    """A histogram of durations, cheap enough for every step.

    Attributes:
        buckets: How many took less than 4 to the power of the index microseconds, and not less than the one before;
            the last one has all that took longer.
        seconds: Of all of them together.
    """

    buckets: list[int] = field(default_factory=lambda: [0] * _BUCKETS)
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Counts one."""
        self.seconds += seconds
        index = (int(seconds * 1e6).bit_length() + 1) >> 1
        self.buckets[index if index < _BUCKETS else -1] += 1

    def merge(self, other: Durations) -> None:
        """Counts those of another histogram."""
        self.seconds += other.seconds
        self.buckets = [mine + its for mine, its in zip(self.buckets, other.buckets, strict=True)]

    @property
    def bounds(self) -> list[float]:
        """The upper bounds of all buckets but the last, in seconds."""
        return [4**index / 1e6 for index in range(_BUCKETS - 1)]


@dataclass
class Tally:
    """What one session has done; written where its environment runs, and by nobody else.

    Attributes:
        failures: Exceptions of the environment's code.
        invalid: Actions and options that were refused.
        violations: Frames that are none of the wire's.
        step_times: Of every sixteenth call: the clock and the histogram cost as much as a quick environment's step.
    """

    resets: int = 0
    steps: int = 0
    failures: int = 0
    invalid: int = 0
    violations: int = 0
    step_times: Durations = field(default_factory=Durations)
    reset_times: Durations = field(default_factory=Durations)
    _turn: int = 0

    def time(self, operation: str, started: float) -> None:
        """Counts the time of a call that ends now, and started then on the monotonic clock, where such are counted."""
        if operation == "step":
            self._turn = (self._turn + 1) & 15
            if self._turn == 1:
                self.step_times.add(time.monotonic() - started)
        elif operation == "reset":
            self.reset_times.add(time.monotonic() - started)

    def merge(self, other: Tally) -> None:
        """Adds what another session has done."""
        self.resets += other.resets
        self.steps += other.steps
        self.failures += other.failures
        self.invalid += other.invalid
        self.violations += other.violations
        self.step_times.merge(other.step_times)
        self.reset_times.merge(other.reset_times)


@dataclass
class Counters:
    """Plain numbers, changed on the server's event loop only.

    Attributes:
        ended: What the sessions that have ended have done.
        hung: Sessions whose code passed its deadline and still runs; it goes down when that code returns.
        violations: What clients sent that is none of the wire's and belongs to no session.
        sessions_stranded: Sessions lost because another one's code blocked what they ran on.
        requests_refused: Requests that reached no route, by the reason.
    """

    sessions_opened: int = 0
    sessions_refused: int = 0
    sessions_expired: int = 0
    sessions_stranded: int = 0
    violations: int = 0
    ended: Tally = field(default_factory=Tally)
    slow_inline_calls: int = 0
    hung: int = 0
    hung_total: int = 0
    requests_refused: Counter[str] = field(default_factory=Counter)
