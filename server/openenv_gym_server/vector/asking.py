"""From a request to the work of each of its shares; what cannot be asked is refused before anything is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

from openenv_gym_protocol.errors import InvalidMessage
from openenv_gym_protocol.vector.columns import Layout, check_batch
from openenv_gym_protocol.vector.frames import Call, Column, Get, Render, Reset, Set, State, Step
from openenv_gym_protocol.vector.payloads import PayloadColumns

from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.vector import lane
from openenv_gym_server.vector.actions import LaneActions
from openenv_gym_server.vector.lane import Driver, LaneDriver, ResetOrder, StepOrder, Work
from openenv_gym_server.vector.many import ManyDriver
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import Part, ValuesPart
from openenv_gym_server.vector.shares import Share

LanesRequest = Reset | Step | State | Render | Call | Get | Set
"""What is asked of lanes and answered by each of them."""

ASKED = frozenset({Reset, Step, State, Render, Call, Get, Set})
"""The same, as classes."""

Asking = Callable[[Share, Driver], Work]
"""Makes the work of one share of a request."""

_T = TypeVar("_T")


def kind_of(request: LanesRequest) -> type[Part] | type[ValuesPart]:
    """What the shares of a request answer."""
    return Part if isinstance(request, Reset | Step) else ValuesPart


def asking(request: LanesRequest, shares: Sequence[Share], offer: Offer, limit: float | None) -> Asking:
    """How the work of each share is made.

    Args:
        request: The request.
        shares: Its shares.
        offer: What the server offers.
        limit: Seconds until the request is given up, if ever.

    Raises:
        UnknownOption: Of a reset option or a name that there is not.
        InvalidMessage: Of lanes that cannot do it, or not without the others.
        ProtocolFailure: The actions do not have the form that ``opened`` said.
    """
    if isinstance(request, Reset):
        return _reset(request, shares, offer)
    if isinstance(request, Step):
        if not offer.partial_steps:
            require_whole(shares, "stepped")
        return step_asking(request, offer, limit)
    if isinstance(request, State):
        return _states
    if isinstance(request, Render):
        if any(share.member.render_mode is None for share in shares):
            raise InvalidMessage("These lanes render nothing: they were opened without a render_mode.")
        return _of_lanes(lane.pictures_of)
    if isinstance(request, Set):
        offer.check_settable(request.name)
        return _set(request, shares)
    offer.check_name(request.name)
    if isinstance(request, Call):
        return _of_lanes(lane.call_of, request)
    return _of_lanes(lane.attribute_of, request.name)


def _reset(request: Reset, shares: Sequence[Share], offer: Offer) -> Asking:
    offer.check_options(request.options or {})
    if not offer.partial_resets:
        require_whole(shares, "reset")

    def ask(share: Share, driver: Driver) -> Work:
        order = ResetOrder(seeds=_at(request.seeds, share), options=request.options)
        return lambda host: driver.reset(host, share.lanes, order)

    return ask


class StepAsking:
    """How the steps of a request are made.

    Args:
        request: The request, checked.
        columns: How its actions belong to their model, where they came as columns.
        limit: Seconds until the request is given up, if ever.

    Attributes:
        actions: The actions of the lanes.
        order: What is asked besides.
    """

    def __init__(self, request: Step, columns: PayloadColumns | None, limit: float | None) -> None:
        self._request = request
        self.actions = LaneActions(request.actions, len(request.lanes), columns)
        deadline = None if limit is None else time.monotonic() + limit
        self.order = StepOrder(next_seeds=request.next_seeds, deadline=deadline, limit=limit)

    def __call__(self, share: Share, driver: Driver) -> Work:
        """The work of a share."""
        if isinstance(driver, ManyDriver):
            return self._of_many(share, driver)
        (position,) = share.positions
        return lambda host: cast(LaneDriver, driver).step(host, self.actions, position, self.order)

    def all_at_once(self, share: Share, driver: ManyDriver) -> Part | None:
        """Takes the step of lanes of one environment, which does not await; where that runs. It raises nothing.

        Args:
            share: The lanes.
            driver: Theirs.

        Returns:
            None where the step had been dropped before it began.
        """
        if not share.begin():
            return None
        host = driver.member.session.host
        host.patience = self.order.limit
        try:
            return run_to_end(self._of_many(share, driver)(host))
        except BaseException as error:
            return cast(Part, lane.failed_by(error, host, Part, share.lanes))
        finally:
            host.patience = None

    def _of_many(self, share: Share, driver: ManyDriver) -> Callable[[Host], Coroutine[Any, Any, Part]]:
        columns, layout = self._request.actions.columns or (), driver.actions
        picked = _picked(columns, layout, share.positions, len(self._request.lanes))
        seeds = _at(self._request.next_seeds, share)
        return lambda host: driver.step(host, share.lanes, picked, seeds)


def step_asking(request: Step, offer: Offer, limit: float | None) -> StepAsking:
    """How the steps of a request are made.

    Args:
        request: The request.
        offer: What the server offers.
        limit: Seconds until the request is given up, if ever.

    Raises:
        ProtocolFailure: The actions do not have the form that ``opened`` said.
    """
    columns = offer.actions
    check_batch(request.actions, None if columns is None else columns.layout, len(request.lanes))
    return StepAsking(request, columns, limit)


def _states(share: Share, driver: Driver) -> Work:
    return lambda host: driver.states(host, share.lanes)


def _set(request: Set, shares: Sequence[Share]) -> Asking:
    if any(share.member.is_many for share in shares):
        raise InvalidMessage("One environment steps these lanes together; nothing can be set in one of them.")

    def ask(share: Share, driver: Driver) -> Work:
        del driver
        value = request.values[share.positions[0]]
        return lambda host: lane.set_attribute_of(host, share.lanes[0], request.name, value)

    return ask


def _of_lanes(work: Callable[..., Coroutine[Any, Any, ValuesPart]], *arguments: Any) -> Asking:
    def ask(share: Share, driver: Driver) -> Work:
        async def answer(host: Host) -> ValuesPart:
            return await work(host, driver.member, share.lanes, *arguments)

        return answer

    return ask


def _picked(columns: Sequence[Column], layout: Layout, positions: Sequence[int], rows: int) -> Sequence[Column]:
    if positions == range(rows) or list(positions) == list(range(rows)):
        return columns
    picked = []
    for leaf, column in zip(layout.leaves, columns, strict=True):
        size = leaf.row_bytes
        picked.append(b"".join([bytes(column[size * row : size * (row + 1)]) for row in positions]))
    return picked


def require_whole(shares: Sequence[Share], what: str) -> None:
    """Refuses some of the lanes of an environment that steps or resets all of them together.

    Raises:
        InvalidMessage: They are some of them.
    """
    for share in shares:
        if len(share.lanes) < len(share.member.lanes):
            raise InvalidMessage(
                f"One environment steps the {len(share.member.lanes)} lanes from {share.member.lanes[0]} on; they can "
                f"only be {what} together."
            )


def _at(values: Sequence[_T] | None, share: Share) -> Sequence[_T] | None:
    if values is None or share.positions == range(len(values)):
        return values
    return [values[position] for position in share.positions]
