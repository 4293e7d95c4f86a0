"""Whether a session can be had: what ``/ready`` says."""

from __future__ import annotations

import asyncio

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym_server.service import Service

MAX_HUNG = 8
"""So many hung sessions at a time, and a server is not ready: it should be replaced."""

_PATIENCE = 5.0
"""How long an answer may wait for an environment to be made, in seconds."""


class Readiness:
    """Knows from the sessions whether environments can be made, and makes one where nobody has tried yet."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._trial: asyncio.Task[str | None] | None = None

    async def reasons_against(self) -> list[str]:
        """Why no session can be had now; empty when one can."""
        sessions = self._service.sessions
        reasons = []
        if self._service.counters.hung >= MAX_HUNG:
            reasons.append(f"{self._service.counters.hung} sessions hang")
        if sessions.capacity.full:
            reasons.append("all sessions are taken")
        if not reasons and sessions.last_construction is not True:
            failure = await self._tried()
            reasons += [] if failure is None else [failure]
        return reasons

    async def _tried(self) -> str | None:
        # One trial at a time, however many ask, and however long the constructor takes.
        if self._trial is None or self._trial.done():
            self._trial = asyncio.create_task(self._try())
        await asyncio.wait({self._trial}, timeout=_PATIENCE)
        return self._trial.result() if self._trial.done() else "an environment is still being made"

    async def _try(self) -> str | None:
        try:
            async with self._service.sessions.transient():
                return None
        except OpenEnvGymError as error:
            return error.message
