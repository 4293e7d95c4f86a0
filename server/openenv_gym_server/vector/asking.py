"""From a request to the work of each of its shares; what cannot be asked is refused before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from openenv_gym_protocol.errors import InvalidMessage
from openenv_gym_protocol.vector.columns import Layout, check_batch
from openenv_gym_protocol.vector.frames import Batch, Call, Column, Get, Render, Reset, Set, State, Step

from openenv_gym_server.dispatch import Host
from openenv_gym_server.vector import lane
from openenv_gym_server.vector.lane import Driver, LaneDriver, ResetOrder, StepOrder, Work
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import AnyPart, Part, ValuesPart
from openenv_gym_server.vector.pending import Share

LanesRequest = Reset | Step | State | Render | Call | Get | Set
"""What is asked of lanes and answered by each of them."""

Asking = Callable[[Share, Driver], Work]
"""Makes the work of one share of a request."""

_T = TypeVar("_T")


def kind_of(request: LanesRequest) -> type[AnyPart]:
    """What the shares of a request answer."""
    return Part if isinstance(request, Reset | Step) else ValuesPart


def asking(request: LanesRequest, shares: Sequence[Share], offer: Offer, deadline: float | None) -> Asking:
    """How the work of each share is made.

    Args:
        request: The request.
        shares: Its shares.
        offer: What the server offers.
        deadline: When the request is given up, on the monotonic clock, in seconds, if ever.

    Raises:
        UnknownOption: Of a reset option or a name that there is not.
        InvalidMessage: Of lanes that cannot do it, or not without the others.
        ProtocolFailure: The actions do not have the form that ``opened`` said.
    """
    if isinstance(request, Reset):
        return _reset(request, shares, offer)
    if isinstance(request, Step):
        return _step(request, shares, offer, deadline)
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
        _require_whole(shares, "reset")

    def ask(share: Share, driver: Driver) -> Work:
        order = ResetOrder(seeds=_at(request.seeds, share), options=request.options)
        return lambda host: driver.reset(host, share.lanes, order)

    return ask


class StepAsking:
    """How the steps of a request are made.

    Args:
        request: The request, checked.
        layout: That of the actions, where they came as columns.
        values: The actions as values, where a lane needs them.
        deadline: When the request is given up, on the monotonic clock, in seconds, if ever.
    """

    def __init__(self, request: Step, layout: Layout | None, values: Sequence[Any], deadline: float | None) -> None:
        self._request = request
        self._layout = layout
        self._values = values
        self._deadline = deadline

    def __call__(self, share: Share, driver: Driver) -> Work:
        """The work of a share."""
        request, layout = self._request, self._layout
        if share.member.is_many and layout is not None:
            columns = request.actions.columns or ()
            actions: Sequence[Any] = _picked(columns, layout, share.positions, len(request.lanes))
        else:
            actions = [self._values[position] for position in share.positions]
        order = StepOrder(actions=actions, next_seeds=_at(request.next_seeds, share), deadline=self._deadline)
        return lambda host: driver.step(host, share.lanes, order)

    def at_once(self, share: Share, driver: LaneDriver, host: Host) -> Part:
        """Does the work of one lane's share whose environment does not await; where that runs."""
        (position,) = share.positions
        seeds = self._request.next_seeds
        return driver.step_at_once(
            host, self._values[position], None if seeds is None else seeds[position], self._deadline
        )


def _step(request: Step, shares: Sequence[Share], offer: Offer, deadline: float | None) -> Asking:
    rows = len(request.lanes)
    layout = None if offer.actions is None else offer.actions.layout
    check_batch(request.actions, layout, rows)
    if not offer.partial_steps:
        _require_whole(shares, "stepped")
    return StepAsking(request, layout, _values(request.actions, layout, rows, shares), deadline)


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


def _values(batch: Batch, layout: Layout | None, rows: int, shares: Sequence[Share]) -> Sequence[Any]:
    if layout is None or batch.columns is None:
        return batch.values or ()
    return () if all(share.member.is_many for share in shares) else layout.unpack(batch.columns, rows)


def _picked(columns: Sequence[Column], layout: Layout, positions: Sequence[int], rows: int) -> Sequence[Column]:
    if list(positions) == list(range(rows)):
        return columns
    picked = []
    for leaf, column in zip(layout.leaves, columns, strict=True):
        size = leaf.row_bytes
        picked.append(b"".join([bytes(column[size * row : size * (row + 1)]) for row in positions]))
    return picked


def _require_whole(shares: Sequence[Share], what: str) -> None:
    for share in shares:
        if len(share.lanes) < len(share.member.lanes):
            raise InvalidMessage(
                f"One environment steps the {len(share.member.lanes)} lanes from {share.member.lanes[0]} on; they can "
                f"only be {what} together."
            )


def _at(values: Sequence[_T] | None, share: Share) -> Sequence[_T] | None:
    return None if values is None else [values[position] for position in share.positions]
