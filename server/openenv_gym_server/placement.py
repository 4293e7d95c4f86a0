"""Which of a server's worker processes something is in, told by its id: ``<id>~<worker>``."""

from __future__ import annotations

_SIGN = "~"


def placed(name: str, worker: int | None) -> str:
    """An id that tells the worker process; the id itself where a server has only one."""
    return name if worker is None else f"{name}{_SIGN}{worker}"


def unplaced(name: str) -> str:
    """The id as it was before ``placed``."""
    return name if worker_of(name) is None else name.rpartition(_SIGN)[0]


def worker_of(name: str) -> int | None:
    """The worker process that an id tells; None if it tells none."""
    _, sign, number = name.rpartition(_SIGN)
    return int(number) if sign and number.isdecimal() and number.isascii() and len(number) < 6 else None
