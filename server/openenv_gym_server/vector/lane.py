"""One lane, or the lanes of one environment that steps many at once: what a request asks of its environment.

Everything here runs where the environment's code runs, and raises no failure of the environment's: it becomes part of
the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from openenv_gym_protocol.autoreset import Move
from openenv_gym_protocol.errors import ExecutionError, InvalidAction, InvalidObservation, OpenEnvGymError
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.frames import Call
from openenv_gym_protocol.vector.lane_rules import LaneRules

from openenv_gym_server.dispatch import Host
from openenv_gym_server.serialisation import Result
from openenv_gym_server.session import Session
from openenv_gym_server.vector.offer import Offer, options_of
from openenv_gym_server.vector.parts import AnyPart, Observed, Part, ValuesPart, failed, observed_row, one_row
from openenv_gym_server.vector.values import plain

TRUNCATED_KEYS = ("truncated", "TimeLimit.truncated")
"""Where metadata says that an episode was cut off rather than ended."""

Work = Callable[[Host], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOrder:
    """What a reset asks of some lanes of one environment.

    Attributes:
        seeds: One for each, or None.
        options: The reset options of this once, or None.
    """

    seeds: Sequence[int | None] | None = None
    options: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOrder:
    """What a step asks of some lanes of one environment.

    Attributes:
        actions: One for each: the value of a space, or the fields of a model. For an environment of many lanes the
            columns of all of them.
        next_seeds: The seed of each, should it reset by itself, or None.
        deadline: When the request is given up, on the monotonic clock, in seconds; None for the server's own limit.
    """

    actions: Sequence[Any]
    next_seeds: Sequence[int | None] | None = None
    deadline: float | None = None


@dataclass(kw_only=True, eq=False)
class Member:
    """Who answers for a lane number.

    Attributes:
        session: Where its environment lives.
        lanes: The numbers of all lanes of that environment.
        offer: What the server offers.
        options: The reset options of ``open``.
        render_mode: That of ``open``.
        is_many: One environment steps all the lanes.
        closed: The lanes that no request reaches any more. The environment ends with the last of them.
    """

    session: Session
    lanes: tuple[int, ...]
    offer: Offer
    options: dict[str, Any] = field(default_factory=dict)
    render_mode: str | None = None
    is_many: bool = False
    closed: set[int] = field(default_factory=set)

    @property
    def has_ended(self) -> bool:
        """No request reaches it any more."""
        return len(self.closed) == len(self.lanes)


class Driver(Protocol):
    """Carries out resets and steps of a member."""

    member: Member

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Part:
        """Starts episodes."""

    async def step(self, host: Host, lanes: Sequence[int], order: StepOrder) -> Part:
        """Takes a step in each lane, or what its autoreset says."""


class LaneDriver:
    """One lane with an environment of its own.

    Args:
        member: The lane.
        rules: When it resets by itself and when its episode is cut off.
    """

    def __init__(self, member: Member, rules: LaneRules) -> None:
        self.member = member
        self._rules = rules

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Part:
        """Starts an episode."""
        seed = order.seeds[0] if order.seeds else None
        observed = self._observed(host, await self._begun(host, seed, order.options))
        row = self._rules.reset(seed)
        return one_row(lanes[0], observed, row.reward, row.flags)

    async def step(self, host: Host, lanes: Sequence[int], order: StepOrder) -> Part:
        """Takes a step, or what the autoreset says."""
        seed = order.next_seeds[0] if order.next_seeds else None
        if self._rules.plan() is Move.RESET:
            observed = self._observed(host, await self._begun(host, seed))
            row = self._rules.reset_in_place(seed)
            return one_row(lanes[0], observed, row.reward, row.flags)
        result = await host.step(self._fields(order.actions[0]), _timeout(order.deadline))
        truncated = _is_truncated(result.metadata)
        # Noted before anything of it can fail: the step has happened.
        row = self._rules.stepped(_reward(result), terminated=result.done and not truncated, truncated=truncated)
        observed = self._observed(host, result)
        if not row.reset_now:
            return one_row(lanes[0], observed, row.reward, row.flags)
        begun = self._observed(host, await self._begun(host, seed))
        row = self._rules.reset_after(row, seed)
        return one_row(lanes[0], begun, row.reward, row.flags, observed)

    async def _begun(self, host: Host, seed: int | None, once: dict[str, Any] | None = None) -> Result:
        options = plain(options_of(self.member.options, once))
        return await host.reset(options if seed is None else {**options, "seed": seed})

    def _fields(self, action: Any) -> dict[str, Any]:
        actions = self.member.offer.actions
        fields = plain(action) if actions is None else actions.payload(action)
        if not isinstance(fields, dict):
            raise InvalidAction("An action is the map of its model's fields.")
        return fields

    def _observed(self, host: Host, result: Result) -> Observed:
        columns = self.member.offer.observations
        with reporting(host):
            if columns is not None:
                return observed_row(columns.pack(result.observation), None, result.metadata)
            # The metadata travels as the info, and not twice.
            value = {key: item for key, item in result.observation.items() if key != "metadata"}
            return observed_row(None, value, result.metadata)


@contextmanager
def reporting(host: Host) -> Iterator[None]:
    """Logs what is wrong with what an environment returned.

    Raises:
        ExecutionError: It cannot be sent; with the id under which it was logged.
        InvalidObservation: It does not fit its space.
    """
    try:
        yield
    except ExecutionError as error:
        raise host.report(error, "writing the answer") from error
    except InvalidObservation as error:
        host.report(error, "writing the answer")
        raise


def guarded(kind: type[AnyPart], lanes: Sequence[int], work: Work) -> Work:
    """The same work, with whatever it raises as its answer."""

    async def answer(host: Host) -> Any:
        try:
            return await work(host)
        except OpenEnvGymError as error:
            return failed(kind, lanes, error)

    return answer


async def states_of(host: Host, member: Member, lanes: Sequence[int]) -> ValuesPart:
    """Reads the state of the lanes' environment."""
    return _values(host, member, lanes, await host.state())


async def pictures_of(host: Host, member: Member, lanes: Sequence[int]) -> ValuesPart:
    """Renders the lanes' environment."""
    mode = member.render_mode
    return _values(host, member, lanes, await host.access("render", lambda environment: environment.render(mode)))


async def call_of(host: Host, member: Member, lanes: Sequence[int], request: Call) -> ValuesPart:
    """Calls a method of the lanes' environment; an attribute that is none is read, as Gymnasium does."""
    args, kwargs = plain(request.args), plain(request.kwargs)

    def call(environment: Any) -> Any:
        found = getattr(environment, request.name)
        return found(*args, **kwargs) if callable(found) or args or kwargs else found

    return _values(host, member, lanes, await host.access(request.name, call))


async def attribute_of(host: Host, member: Member, lanes: Sequence[int], name: str) -> ValuesPart:
    """Reads an attribute of the lanes' environment."""
    return _values(host, member, lanes, await host.access(name, lambda environment: getattr(environment, name)))


async def set_attribute_of(host: Host, lane: int, name: str, value: Any) -> ValuesPart:
    """Sets an attribute of a lane's environment."""
    await host.access(name, lambda environment: setattr(environment, name, plain(value)))
    return ValuesPart(lanes=(lane,), values=[None])


def _values(host: Host, member: Member, lanes: Sequence[int], value: Any) -> ValuesPart:
    with reporting(host):
        return ValuesPart(lanes=lanes, values=[encode_value(item) for item in _items(member, lanes, value)])


def _items(member: Member, lanes: Sequence[int], value: Any) -> list[Any]:
    if not member.is_many:
        return [value]
    # What an environment of many lanes answers with one item for each, as Gymnasium's do, is theirs; the rest all's.
    own = isinstance(value, list | tuple) and len(value) == len(member.lanes)
    return [value[member.lanes.index(lane)] if own else value for lane in lanes]


def _timeout(deadline: float | None) -> dict[str, Any] | None:
    return None if deadline is None else {"timeout_s": max(deadline - time.monotonic(), 0.0)}


def _is_truncated(metadata: dict[str, Any] | None) -> bool:
    return metadata is not None and any(bool(metadata.get(key)) for key in TRUNCATED_KEYS)


def _reward(result: Result) -> float | None:
    try:
        return None if result.reward is None else float(result.reward)
    except (OverflowError, TypeError, ValueError) as error:
        raise ExecutionError(f"The environment returned a reward that is no float: {error}") from error
