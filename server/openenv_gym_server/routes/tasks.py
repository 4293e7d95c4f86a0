"""The Task API: what an environment's ``list_splits``, ``list_tasks`` and so on say, over HTTP."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Response
from openenv_gym_protocol.bodies import SplitBody, TaskBody, TaskRangeBody
from pydantic import BaseModel

from openenv_gym_server.dispatch import Host
from openenv_gym_server.service import Service

_TYPES = ("train", "validation", "test")


def task_routes(service: Service) -> APIRouter:
    """The routes for one server."""
    router = APIRouter(tags=["Task API"])
    name = service.definition.name

    @router.get("/list_environments")
    async def list_environments() -> list[str]:
        """The environments of this server: one."""
        return [name]

    @router.get("/{env_name}/splits")
    async def splits(env_name: str) -> Response:
        """The splits of the environment's tasks."""
        return await _ask(service, env_name, "list_splits", wrap=lambda found: [_split(split) for split in found])

    @router.post("/{env_name}/tasks")
    async def tasks(env_name: str, body: SplitBody) -> Response:
        """All tasks of a split."""
        return await _ask(
            service, env_name, "list_tasks", body.split, wrap=lambda found: {"tasks": found, "env_name": name}
        )

    @router.post("/{env_name}/num_tasks")
    async def num_tasks(env_name: str, body: SplitBody) -> Response:
        """How many tasks a split has."""
        return await _ask(service, env_name, "num_tasks", body.split, wrap=lambda found: {"num_tasks": found})

    @router.post("/{env_name}/task")
    async def task(env_name: str, body: TaskBody) -> Response:
        """One task."""
        return await _ask(service, env_name, "get_task", body.split, body.index, wrap=lambda found: {"task": found})

    @router.post("/{env_name}/task_range")
    async def task_range(env_name: str, body: TaskRangeBody) -> Response:
        """A range of tasks, bounded as Python's slices are."""
        return await _ask(
            service,
            env_name,
            "get_task_range",
            body.split,
            body.start,
            body.stop,
            wrap=lambda found: {"tasks": found},
        )

    return router


async def _ask(service: Service, env_name: str, method: str, *arguments: Any, wrap: Any) -> Response:
    if env_name.lower() != service.definition.name.lower():
        raise HTTPException(404, f"unknown environment {env_name!r}")

    async def work(host: Host) -> str:
        return host.written(wrap(await host.call_method(method, *arguments)), method)

    try:
        async with service.sessions.transient() as session:
            text = await session.call(work, now=service.now())
    except NotImplementedError as error:
        raise HTTPException(501, f"{method} is not supported for this environment") from error
    except IndexError as error:
        raise HTTPException(400, "Invalid task index") from error
    return Response(text, media_type="application/json")


def _split(split: Any) -> Any:
    if isinstance(split, BaseModel | dict):
        return split
    text = str(split)
    return {"name": text, "type": text if text in _TYPES else "validation"}
