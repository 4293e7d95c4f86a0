"""Makes the web application of an environment."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route, WebSocketRoute

from openenv_gym_server import logs
from openenv_gym_server.config import ServerConfig, ServerMode, session_limit
from openenv_gym_server.contract import Contract
from openenv_gym_server.cross_origin import CrossOrigin
from openenv_gym_server.definition import define
from openenv_gym_server.guard import Guard
from openenv_gym_server.routes.faults import install_fault_handlers
from openenv_gym_server.routes.http import control_routes
from openenv_gym_server.routes.mcp import McpEndpoint
from openenv_gym_server.routes.mcp_socket import McpSocketEndpoint
from openenv_gym_server.routes.meta import meta_routes
from openenv_gym_server.routes.tasks import task_routes
from openenv_gym_server.routes.websocket import WebSocketEndpoint
from openenv_gym_server.service import Service
from openenv_gym_server.sockets.takeover import Marker
from openenv_gym_server.tracing import find_tracer

_SHUTDOWN_PATIENCE = 5.0


def create_fastapi_app(
    env: Callable[[], Any],
    action_cls: type[BaseModel],
    observation_cls: type[BaseModel],
    max_concurrent_envs: int | None = None,
    concurrency_config: Any = None,
    env_name: str | None = None,
    state_cls: type[BaseModel] | None = None,
    *,
    mode: str | None = None,
    reset_observation_cls: type[BaseModel] | None = None,
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] | None = None,
) -> FastAPI:
    """Makes the web application of an environment, without a web page.

    Args:
        env: Makes a new environment: a class, or any callable without arguments.
        action_cls: The model of actions.
        observation_cls: The model of what step returns.
        max_concurrent_envs: How many sessions there may be; the variable ``MAX_CONCURRENT_ENVS`` beats it.
        concurrency_config: The same and the idle time to live, as openenv's ``ConcurrencyConfig``.
        env_name: The environment's name in the Task API's paths.
        state_cls: The model of the state; by default what the environment class names as its own.
        mode: ``simulation`` or ``production``; by default what the variable ``OPENENV_MODE`` says.
        reset_observation_cls: The model of what reset returns, where it differs.
        allowed_hosts: What requests may name as ``Host``; the variable ``OPENENV_GYM_ALLOWED_HOSTS`` beats it.
        allowed_origins: The origins of web pages that may use the server besides its own; the variable
            ``OPENENV_GYM_ALLOWED_ORIGINS`` beats it.

    Returns:
        An ASGI application. Its ``state.openenv_gym`` holds the server's parts.

    Raises:
        ConfigurationError: Settings that cannot be, or that contradict each other.
    """
    config = ServerConfig.from_environ(mode=mode)
    config = replace(
        config,
        allowed_hosts=config.allowed_hosts or tuple(allowed_hosts or ()),
        allowed_origins=config.allowed_origins or tuple(allowed_origins or ()),
    )
    definition = define(
        env,
        action_cls,
        observation_cls,
        name=env_name,
        state_class=state_cls,
        reset_observation_class=reset_observation_cls,
    )
    limit = session_limit(
        config,
        argument=max_concurrent_envs,
        concurrency=concurrency_config,
        concurrent=definition.traits.concurrent,
        name=definition.class_name,
    )
    if concurrency_config is not None and getattr(concurrency_config, "session_timeout", None):
        config = replace(config, session_idle_ttl=float(concurrency_config.session_timeout))
    return _application(Service(Contract(definition, config), limit))


def _application(service: Service) -> FastAPI:
    sockets = WebSocketEndpoint(service)
    mcp = McpEndpoint(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        logs.configure(service.config.log_format)
        service.contract.tracer = find_tracer()
        # What is there by now stays: later collections, which hold up every session, have less to look through.
        gc.collect()
        gc.freeze()
        yield
        await sockets.end()
        await mcp.close()
        await service.sessions.shutdown(_SHUTDOWN_PATIENCE)

    app = FastAPI(title="OpenEnv Environment HTTP API", version="1.0.0", lifespan=lifespan)
    app.state.openenv_gym = service
    app.add_middleware(Guard, config=service.config, counters=service.counters)
    if service.config.allowed_origins:
        app.add_middleware(CrossOrigin, origins=service.config.allowed_origins)
    app.add_middleware(Marker)
    install_fault_handlers(app, retry_after=service.config.capacity_wait)
    app.include_router(meta_routes(service))
    if service.config.mode is ServerMode.SIMULATION:
        app.include_router(control_routes(service))
    app.router.routes.append(WebSocketRoute("/ws", sockets))
    app.router.routes.append(Route("/mcp", mcp, include_in_schema=False))
    app.router.routes.append(WebSocketRoute("/mcp", McpSocketEndpoint(service)))
    app.include_router(task_routes(service))
    return app


def create_app(
    env: Callable[[], Any],
    action_cls: type[BaseModel],
    observation_cls: type[BaseModel],
    env_name: str | None = None,
    max_concurrent_envs: int | None = None,
    concurrency_config: Any = None,
    gradio_builder: Any = None,
    custom_tab_name: str = "Custom",
    custom_tab_primary: bool = False,
    show_default_tab: bool = True,
    title_override: str | None = None,
    state_cls: type[BaseModel] | None = None,
    *,
    mode: str | None = None,
    reset_observation_cls: type[BaseModel] | None = None,
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] | None = None,
) -> FastAPI:
    """Makes the web application of an environment.

    The arguments are those of ``create_fastapi_app``, in openenv's order; those about a web page are taken and
    not used, because there is none.
    """
    del gradio_builder, custom_tab_name, custom_tab_primary, show_default_tab, title_override
    return create_fastapi_app(
        env,
        action_cls,
        observation_cls,
        max_concurrent_envs,
        concurrency_config,
        env_name,
        state_cls,
        mode=mode,
        reset_observation_cls=reset_observation_cls,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
    )
