"""What an environment with tasks has."""

from __future__ import annotations

from typing import Any, Protocol


class TaskProvider(Protocol):
    """The methods of an environment that tells its tasks; it need not derive from this, and may leave some out.

    They are plain or coroutine functions, are called on an environment that was made for the question, without a reset,
    and change nothing. The task of an episode is chosen by ``reset(split=..., index=...)``: declare both as parameters.
    """

    def list_splits(self) -> list[Any]:
        """The splits: names, or mappings and models with ``name`` and ``type``.

        A name is its own type if it is train, validation or test, and of the type validation otherwise.
        """

    def list_tasks(self, split: str) -> list[Any]:
        """The tasks of a split, of any form that JSON has; of very large splits perhaps the first only."""

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""

    def get_task(self, split: str, index: int) -> Any:
        """One task.

        Raises:
            IndexError: There is none at that place.
        """

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Some tasks, from ``start`` to before ``stop``."""
