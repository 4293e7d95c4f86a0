"""Makes the steps of lanes that are all on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from openenv_gym_protocol.vector.frames import Step

from openenv_gym_server.vector.asking import require_whole, step_asking
from openenv_gym_server.vector.lane import LaneDriver
from openenv_gym_server.vector.lanes import Lanes
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.shares import Series, Share
from openenv_gym_server.vector.thread_steps import ThreadStep, one_after_another
from openenv_gym_server.workers.thread import WorkThread

_Make: TypeAlias = Callable[[Step, float | None], ThreadStep]
"""Makes a step of lanes that were found."""


class StepMaker:
    """Makes steps; the lanes of a request that comes again, with other actions, are found once.

    It keeps the latest request.

    Args:
        offer: What the server offers.
        lanes: The lanes of the connection.
    """

    def __init__(self, offer: Offer, lanes: Lanes) -> None:
        self._offer = offer
        self._lanes = lanes
        self._latest: Step | None = None
        self._changes = 0
        self._make: _Make | None = None

    def step(self, request: Step, limit: float | None, thread: WorkThread) -> ThreadStep | None:
        """The step of lanes that are all here and on a thread; None where it is not that.

        Args:
            request: The request.
            limit: Seconds until it is given up, if ever.
            thread: The thread.

        Raises:
            OpenEnvGymError: It cannot be carried out; nothing was done.
        """
        if request is not self._latest or self._changes != self._lanes.changes:
            self._latest = None
            self._make = (self._of_many if self._offer.traits.has_arrays else self._of_each)(request, thread)
            self._latest, self._changes = request, self._lanes.changes
        return None if self._make is None else self._make(request, limit)

    def _of_each(self, request: Step, _: WorkThread) -> _Make | None:
        drivers, positions, gone = self._lanes.drivers(request.lanes)
        return None if gone or not drivers else partial(self._step_of_each, drivers, positions)

    def _of_many(self, request: Step, thread: WorkThread) -> _Make | None:
        shares, gone = self._lanes.shares(request.lanes)
        if gone or len(shares) != 1 or shares[0].member.session.home is not thread:
            return None
        if not self._offer.partial_steps:
            require_whole(shares, "stepped")
        return partial(self._step_of_many, self._lanes.driver(shares[0].member), shares[0])

    def _step_of_each(
        self, drivers: Sequence[LaneDriver], positions: Sequence[int], request: Step, limit: float | None
    ) -> ThreadStep:
        series = Series(drivers, positions)
        return ThreadStep(series, partial(one_after_another, step_asking(request, self._offer, limit), series), limit)

    def _step_of_many(self, driver: Any, found: Share, request: Step, limit: float | None) -> ThreadStep:
        share = Share(found.member, found.lanes, found.positions)
        asked = step_asking(request, self._offer, limit)
        return ThreadStep(share, partial(asked.all_at_once, share, driver), limit)
