"""The tasks of an environment, asked for by a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from openenv_gym_protocol import errors

from openenv_gym.client.settings import ClientSettings
from openenv_gym.transports.http import ask_route
from openenv_gym.transports.io_thread import io_thread


class TaskCalls:
    """What a client asks of the Task API. The names are those of the environment's methods.

    A task is played by ``reset(split=..., index=...)``, where the environment has these reset options. No session is
    needed to ask, and none is made for it.
    """

    _settings: ClientSettings
    _env_name: str | None = None

    async def list_splits(self) -> list[dict[str, Any]]:
        """The splits of the environment's tasks.

        Returns:
            One mapping a split, with ``name`` and ``type`` (``train``, ``validation`` or ``test``).

        Raises:
            NotOffered: The environment has no such method.
            ExecutionError: The method failed.
            OpenEnvGymError: The server cannot be reached or answers wrongly.
        """
        return _listed(await self._ask_tasks("splits", "list_splits"), "splits")

    async def list_tasks(self, split: str) -> list[Any]:
        """All tasks of a split; of very large ones perhaps only the first.

        Raises:
            OpenEnvGymError: As for ``list_splits``.
        """
        return _listed(await self._ask_tasks("tasks", "list_tasks", {"split": split}), "tasks", "tasks")

    async def num_tasks(self, split: str) -> int:
        """How many tasks a split has.

        Raises:
            OpenEnvGymError: As for ``list_splits``.
        """
        answer = await self._ask_tasks("num_tasks", "num_tasks", {"split": split})
        count = answer.get("num_tasks") if isinstance(answer, dict) else None
        if not isinstance(count, int):
            raise errors.UnexpectedReply(f"The server's number of tasks is no number: {answer!r:.200}")
        return count

    async def get_task(self, split: str, index: int) -> Any:
        """One task.

        Args:
            split: The split.
            index: Its place; most environments count a negative one from the end.

        Raises:
            InvalidMessage: There is no task at that place.
            OpenEnvGymError: As for ``list_splits``.
        """
        answer = await self._ask_tasks("task", "get_task", {"split": split, "index": index})
        if not isinstance(answer, dict) or "task" not in answer:
            raise errors.UnexpectedReply(f"The server's answer has no task: {answer!r:.200}")
        return answer["task"]

    async def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Some tasks, from ``start`` to before ``stop``, as Python's slices are bounded.

        Raises:
            OpenEnvGymError: As for ``list_splits``.
        """
        body = {"split": split, "start": start, "stop": stop}
        return _listed(await self._ask_tasks("task_range", "get_task_range", body), "tasks", "tasks")

    async def _ask_tasks(self, route: str, method: str, body: Mapping[str, Any] | None = None) -> Any:
        name = await self._task_name()
        status, answer = await self._ask_route(f"/{quote(name, safe='')}/{route}", body)
        if status == 200:
            return answer
        raise _error(status, answer, method)

    async def _task_name(self) -> str:
        if self._env_name is None:
            status, names = await self._ask_route("/list_environments")
            if status == 404:
                raise errors.NotOffered("The server has no Task API: it is of an older release of openenv.")
            if status != 200 or not isinstance(names, list) or not names or not isinstance(names[0], str):
                raise errors.UnexpectedReply(f"The server's list of environments is none: {names!r:.200}")
            self._env_name = names[0]
        return self._env_name

    async def _ask_route(self, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        settings = self._settings
        # An environment is made to be asked, and may have its tasks to load.
        patience = max(settings.timeouts.connect, settings.timeouts.reset or 0.0)
        options = replace(settings.options, connect_timeout=patience)
        return await io_thread().call(ask_route(settings.base_url, path, options, body))


def _error(status: int, answer: Any, method: str) -> errors.OpenEnvGymError:
    detail = answer.get("detail", answer) if isinstance(answer, dict) else answer
    text = f"{method}: {detail if isinstance(detail, str) else repr(detail)}"[:1000]
    if status == 501:
        return errors.NotOffered(text)
    if status in (400, 422):
        return errors.InvalidMessage(text)
    if status == 500:
        return errors.ExecutionError(text)
    if status == 503:
        return errors.CapacityReached(text)
    return errors.UnexpectedReply(f"{text} (HTTP {status})")


def _listed(answer: Any, what: str, key: str | None = None) -> list[Any]:
    found = answer.get(key) if key is not None and isinstance(answer, dict) else answer
    if not isinstance(found, list):
        raise errors.UnexpectedReply(f"The server's {what} are no list: {answer!r:.200}")
    return found
