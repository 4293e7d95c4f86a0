"""Opens lanes: their sessions, their numbers, and what drives each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.vector.frames import Open
from openenv_gym_protocol.vector.lane_rules import LaneRules

from openenv_gym_server.service import Service
from openenv_gym_server.session import Session
from openenv_gym_server.vector.lane import LaneDriver, Member
from openenv_gym_server.vector.lanes import Lanes
from openenv_gym_server.vector.many import ManyDriver
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.workers.thread import WorkThread


class LaneOpener:
    """Opens lanes of one connection.

    Args:
        service: The server's parts.
        offer: What it offers.
        lanes: Where they are added.
        thread: The thread that they share, if they do.
        lost: Called on the event loop when a member is lost.
    """

    def __init__(
        self,
        service: Service,
        offer: Offer,
        lanes: Lanes,
        *,
        thread: Callable[[], WorkThread | None],
        lost: Callable[[Member, OpenEnvGymError], None],
    ) -> None:
        self._service = service
        self._offer = offer
        self._lanes = lanes
        self._thread = thread
        self._lost = lost

    async def open(self, request: Open, mode: AutoresetMode) -> list[int]:
        """Opens lanes.

        Returns:
            Their numbers.

        Raises:
            OpenEnvGymError: They cannot be had; none was opened.
        """
        return await (self._open_many if self._offer.traits.has_arrays else self._open_each)(request, mode)

    async def _open_each(self, request: Open, mode: AutoresetMode) -> list[int]:
        traits = self._offer.traits
        sessions = await self._service.sessions.open_lanes(request.lanes, thread=self._thread)
        numbers = self._lanes.numbers(request.lanes)
        for number, session in zip(numbers, sessions, strict=True):
            rules = LaneRules(
                mode,
                request.max_episode_steps,
                seed_supported=traits.seed_supported,
                seeded_stream=traits.seeded_stream,
            )
            self._lanes.add(LaneDriver(self._member(request, session, (number,)), rules))
        return numbers

    async def _open_many(self, request: Open, mode: AutoresetMode) -> list[int]:
        self._offer.require_layouts()
        arguments: dict[str, Any] = {"autoreset": str(mode)}
        if request.max_episode_steps is not None:
            arguments["max_episode_steps"] = request.max_episode_steps
        session = await self._service.sessions.open_vector(request.lanes, thread=self._thread, **arguments)
        numbers = self._lanes.numbers(request.lanes)
        member = self._member(request, session, tuple(numbers))
        member.is_many = True
        try:
            driver = ManyDriver(member, mode)
        except BaseException:
            # Nobody else knows of the session.
            session.on_lost = None
            self._service.sessions.close(session)
            raise
        self._lanes.add(driver)
        return numbers

    def _member(self, request: Open, session: Session, lanes: tuple[int, ...]) -> Member:
        member = Member(
            session=session,
            lanes=lanes,
            offer=self._offer,
            options=request.options,
            render_mode=request.render_mode,
        )
        session.on_lost = partial(self._lost, member)
        session.host.as_columns = self._offer.observations is not None
        return member
