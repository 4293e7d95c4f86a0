"""``/reset``, ``/step``, ``/state`` and ``/close`` over HTTP.

With the header ``X-OpenEnv-Session`` they act on a session; an empty one on ``/reset`` opens it, and the answer's
header names it. Without the header every call has an environment of its own, as openenv does it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, HTTPException, Request, Response
from openenv_gym_protocol.bodies import ResetKeys, StepBody

from openenv_gym_server.dispatch import Host
from openenv_gym_server.service import Service

SESSION_HEADER = "X-OpenEnv-Session"

SessionHeader = Annotated[str | None, Header(alias=SESSION_HEADER)]
_NO_RESET_KEYS = Body(default_factory=ResetKeys)


def control_routes(service: Service) -> APIRouter:
    """The routes for one server."""
    router = APIRouter()

    @router.post("/reset", tags=["Environment Control"])
    async def reset(request: Request, body: ResetKeys = _NO_RESET_KEYS, session: SessionHeader = None) -> Response:
        """Starts an episode."""
        data = body.model_dump(exclude_unset=True)

        async def work(host: Host) -> str:
            return host.written((await host.reset(data)).body(), "reset")

        return await (_begin(service, request, work) if session == "" else _run(service, session, work))

    @router.post("/step", tags=["Environment Control"])
    async def step(body: StepBody, session: SessionHeader = None) -> Response:
        """Takes an action."""
        options = body.model_dump(exclude_unset=True, exclude={"action"})

        async def work(host: Host) -> str:
            return host.written((await host.step(body.action, options)).body(), "step")

        return await _run(service, session, work)

    @router.get("/state", tags=["State Management"])
    async def state(session: SessionHeader = None) -> Response:
        """Reads the state."""

        async def work(host: Host) -> str:
            return host.written(await host.state(), "state")

        return await _run(service, session, work)

    @router.post("/close", tags=["Environment Control"], status_code=204)
    async def close(session: SessionHeader = None) -> None:
        """Ends a session, which otherwise lives until it has been idle for its time to live.

        One that a socket has ends with that socket.
        """
        service.sharing.close(_required(session))

    return router


async def _begin(service: Service, request: Request, work: Callable[[Host], Coroutine[Any, Any, str]]) -> Response:
    session = await service.sessions.open(socket=False)
    learns_the_id = False
    try:
        text = await session.call(work, now=service.now())
        learns_the_id = not await request.is_disconnected()
    finally:
        if not learns_the_id:
            # Nobody could use the session, and it would keep its slot for its whole time to live.
            service.sessions.close(session)
    return _answer(text, session.session_id)


async def _run(service: Service, asked: str | None, work: Callable[[Host], Coroutine[Any, Any, str]]) -> Response:
    if asked is None:
        async with service.sessions.transient() as session:
            return _answer(await session.call(work, now=service.now()))
    session = service.sessions.find(_required(asked))
    return _answer(await session.call(work, now=service.now()), session.session_id)


def _required(asked: str | None) -> str:
    if not asked:
        raise HTTPException(400, f"Name the session in {SESSION_HEADER}; an empty one on /reset opens one.")
    return asked


def _answer(text: str, session_id: str | None = None) -> Response:
    headers = {} if session_id is None else {SESSION_HEADER: session_id}
    return Response(text, headers=headers, media_type="application/json")
