"""What the server counts: one object, from which metrics can be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counters:
    """Plain numbers, changed on the server's event loop only.

    Attributes:
        hung: Sessions whose code passed its deadline and still runs; it goes down when that code returns.
    """

    sessions_opened: int = 0
    sessions_refused: int = 0
    sessions_expired: int = 0
    environment_errors: int = 0
    resets: int = 0
    steps: int = 0
    slow_inline_calls: int = 0
    hung: int = 0
    hung_total: int = 0
