"""What ``with`` says to whoever meant ``async with``."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn


class AsyncOnly:
    """A context manager for coroutines alone."""

    def __enter__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"{name} is asynchronous: write `with {name}(...).sync()` or `async with {name}(...)`.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Exists so that ``with`` reaches ``__enter__``, which says what to write instead."""
