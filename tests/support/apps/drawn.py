"""Serves every space of ``tests.support.drawn`` in one process: each application has the space's name as its path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from gymnasium_env.serving import served
from gymnasium_env.settings import Settings
from openenv_gym_server import create_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from tests.support import drawn

drawn.register()


def _app(space: str) -> Starlette:
    parts = served(Settings(env_id=drawn.ID, env_kwargs={"space": space}))
    return create_app(parts.environment_class, parts.action_class, parts.observation_class, env_name=space)


_apps = {space: _app(space) for space in drawn.SPACES}


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "healthy"})


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for each in _apps.values():
            await stack.enter_async_context(each.router.lifespan_context(each))
        yield


app = Starlette(
    routes=[Route("/health", _health), *(Mount(f"/{name}", each) for name, each in _apps.items())],
    lifespan=_lifespan,
)
