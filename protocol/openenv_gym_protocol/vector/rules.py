"""What has to hold inside one message beyond the types of its keys; a message that breaks it cannot be built."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized


def distinct(lanes: Sequence[int]) -> None:
    """Refuses lanes of which one stands twice.

    Raises:
        ValueError: One does.
    """
    if len(set(lanes)) != len(lanes):
        twice = sorted({lane for lane in lanes if lanes.count(lane) > 1}) if len(lanes) < 100 else "several"
        raise ValueError(f"lanes that stand twice: {twice}")


def as_long(what: str, values: Sized | None, count: int, size: int = 1) -> None:
    """Refuses values that are not one for each lane; None is no values.

    Args:
        what: The key, for the message.
        values: A list, or a buffer.
        count: How many there have to be.
        size: Bytes of each, of a buffer.

    Raises:
        ValueError: There are more or fewer.
    """
    if values is not None and len(values) != count * size:
        raise ValueError(f"{what} has a length of {len(values)} where {count * size} belong")


def seconds(deadline: float | None) -> None:
    """Refuses a deadline that is infinite or no number.

    Raises:
        ValueError: It is.
    """
    if deadline is not None and not math.isfinite(deadline):
        raise ValueError(f"a deadline of {deadline} seconds")
