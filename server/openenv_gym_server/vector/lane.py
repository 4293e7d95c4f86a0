"""One lane, or the lanes of one environment that steps many at once: what a request asks of its environment.

Everything here runs where the environment's code runs, and raises no failure of the environment's: it becomes part of
the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

from openenv_gym_protocol.autoreset import Move
from openenv_gym_protocol.errors import (
    ExecutionError,
    InvalidAction,
    InvalidMessage,
    InvalidObservation,
    OpenEnvGymError,
)
from openenv_gym_protocol.metadata import is_truncated
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.frames import Call
from openenv_gym_protocol.vector.json_form import json_form
from openenv_gym_protocol.vector.lane_rules import LaneRow, LaneRules

from openenv_gym_server.dispatch import Host, run_to_end
from openenv_gym_server.serialisation import Result
from openenv_gym_server.session import Session
from openenv_gym_server.vector.offer import Offer, options_of
from openenv_gym_server.vector.parts import AnyPart, Observed, Part, ValuesPart, failed, observed_row, one_row
from openenv_gym_server.vector.values import plain

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

    async def states(self, host: Host, lanes: Sequence[int]) -> ValuesPart:
        """Reads the state of each lane."""


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
        if self._is_reset_due():
            return await self._reset_in_place(host, lanes[0], seed)
        result = await host.step(self._fields(order.actions[0]), _timeout(order.deadline))
        row, observed = self._noted(host, result)
        if row.reset_now:
            return await self._reset_after(host, lanes[0], row, observed, seed)
        return one_row(lanes[0], observed, row.reward, row.flags)

    def step_at_once(self, host: Host, action: Any, seed: int | None, deadline: float | None) -> Part:
        """Does what ``step`` does, for an environment that does not await: without a coroutine it takes half the time.

        Args:
            host: Owns the environment.
            action: As in an order of one lane.
            seed: The seed, should it reset by itself.
            deadline: As in an order.
        """
        lane = self.member.lanes[0]
        if self._is_reset_due():
            return run_to_end(self._reset_in_place(host, lane, seed))
        row, observed = self._noted(host, host.step_at_once(self._fields(action), _timeout(deadline)))
        if row.reset_now:
            return run_to_end(self._reset_after(host, lane, row, observed, seed))
        return one_row(lane, observed, row.reward, row.flags)

    async def states(self, host: Host, lanes: Sequence[int]) -> ValuesPart:
        """Reads the environment's state."""
        return states_of(host, lanes, [await host.state()])

    def _is_reset_due(self) -> bool:
        # In production nothing can be reset: the host says so, and not that a reset is missing.
        return not self.member.offer.is_in_production and self._rules.plan() is Move.RESET

    async def _reset_in_place(self, host: Host, lane: int, seed: int | None) -> Part:
        observed = self._observed(host, await self._begun(host, seed))
        row = self._rules.reset_in_place(seed)
        return one_row(lane, observed, row.reward, row.flags)

    async def _reset_after(self, host: Host, lane: int, row: LaneRow, ended: Observed, seed: int | None) -> Part:
        begun = self._observed(host, await self._begun(host, seed))
        row = self._rules.reset_after(row, seed)
        return one_row(lane, begun, row.reward, row.flags, ended)

    def _noted(self, host: Host, result: Result) -> tuple[LaneRow, Observed]:
        truncated = is_truncated(result.metadata) if result.metadata else False
        # Noted before anything of it can fail: the step has happened.
        reward = None if result.reward is None else 0.0
        row = self._rules.stepped(reward, terminated=result.done and not truncated, truncated=truncated)
        with reporting(host):
            row = LaneRow(_reward(result), row.flags, row.reset_now)
            return row, self._written(result)

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
        with reporting(host):
            return self._written(result)

    def _written(self, result: Result) -> Observed:
        columns = self.member.offer.observations
        if columns is not None:
            return observed_row(columns.pack(result.observation), None, result.metadata)
        # The metadata travels as the info, and not twice.
        value = {key: item for key, item in result.observation.items() if key != "metadata"}
        return observed_row(None, value, result.metadata)


class reporting:
    """Logs what is wrong with what an environment returned.

    A class, because every step of every lane enters one: that takes a third of what a generator does.

    Args:
        host: Owns the environment.

    Raises:
        ExecutionError: It cannot be sent; with the id under which it was logged.
        InvalidObservation: It does not fit its space.
    """

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, ExecutionError):
            raise self._host.report(error, "writing the answer") from error
        if isinstance(error, InvalidObservation):
            self._host.report(error, "writing the answer")


def guarded(kind: type[AnyPart], lanes: Sequence[int], work: Work) -> Work:
    """The same work, with whatever it raises as its answer."""

    async def answer(host: Host) -> Any:
        try:
            return await work(host)
        except OpenEnvGymError as error:
            return failed(kind, lanes, error)
        except Exception as error:
            # What the environment returned was none of what it may return.
            return failed(kind, lanes, host.report(error, "the request"))

    return answer


async def pictures_of(host: Host, member: Member, lanes: Sequence[int]) -> ValuesPart:
    """Renders the lanes' environment."""
    mode = member.render_mode
    pictures = await host.access("render", lambda environment: environment.render(mode))
    return _values(host, lanes, _by_lane(member, lanes, pictures))


async def call_of(host: Host, member: Member, lanes: Sequence[int], request: Call) -> ValuesPart:
    """Calls a method of the lanes' environment; an attribute that is none is read, as Gymnasium does."""
    args, kwargs = plain(request.args), plain(request.kwargs)
    is_call = True

    def call(environment: Any) -> Any:
        nonlocal is_call
        found = getattr(environment, request.name)
        is_call = bool(callable(found) or args or kwargs)
        return found(*args, **kwargs) if is_call else found

    value = await host.access(request.name, call)
    return _values(host, lanes, _by_lane(member, lanes, value) if is_call else [value] * len(lanes))


async def attribute_of(host: Host, _: Member, lanes: Sequence[int], name: str) -> ValuesPart:
    """Reads an attribute of the lanes' environment.

    Raises:
        InvalidMessage: It is a method.
    """
    value = await host.access(name, lambda environment: getattr(environment, name))
    if callable(value):
        raise InvalidMessage(f"{name!r} is a method, which can be called and not be read.")
    return _values(host, lanes, [value] * len(lanes))


async def set_attribute_of(host: Host, lane: int, name: str, value: Any) -> ValuesPart:
    """Sets an attribute of a lane's environment."""
    await host.access(name, lambda environment: setattr(environment, name, plain(value)))
    return ValuesPart(lanes=(lane,), values=[None])


def states_of(host: Host, lanes: Sequence[int], states: Sequence[Any]) -> ValuesPart:
    """The part of lanes that answered with their states, one for each.

    Raises:
        ExecutionError: A state cannot be sent; with the id under which it was logged.
    """
    with reporting(host):
        return ValuesPart(lanes=lanes, values=[encode_value(json_form(state)) for state in states])


def _values(host: Host, lanes: Sequence[int], values: list[Any]) -> ValuesPart:
    with reporting(host):
        return ValuesPart(lanes=lanes, values=[encode_value(value) for value in values])


def _by_lane(member: Member, lanes: Sequence[int], value: Any) -> list[Any]:
    if not member.is_many:
        return [value]
    # What an environment of many lanes answers with one item for each, as Gymnasium's do, is theirs; the rest all's.
    # An attribute is never divided: a list of its own may have that length.
    own = isinstance(value, list | tuple) and len(value) == len(member.lanes)
    return [value[member.lanes.index(lane)] if own else value for lane in lanes]


def _timeout(deadline: float | None) -> dict[str, Any]:
    return {} if deadline is None else {"timeout_s": max(deadline - time.monotonic(), 0.0)}


def _reward(result: Result) -> float:
    try:
        return 0.0 if result.reward is None else float(result.reward)
    except (OverflowError, TypeError, ValueError) as error:
        raise ExecutionError(f"The environment returned a reward that is no float: {error}") from error
