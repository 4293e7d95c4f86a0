"""One lane, or the lanes of one environment that steps many at once: what a request asks of its environment.

Everything here runs where the environment's code runs, and raises no failure of the environment's: it becomes part of
the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, cast

import msgspec
from openenv_gym_protocol.autoreset import Move
from openenv_gym_protocol.errors import (
    ExecutionError,
    InvalidMessage,
    InvalidObservation,
    OpenEnvGymError,
)
from openenv_gym_protocol.metadata import is_truncated
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.frames import TERMINATED, TRUNCATED, Call
from openenv_gym_protocol.vector.json_form import json_form
from openenv_gym_protocol.vector.lane_rules import LaneRules

from openenv_gym_server.dispatch import Host, Values
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.serialisation import Result
from openenv_gym_server.session import Session
from openenv_gym_server.vector.actions import LaneActions
from openenv_gym_server.vector.offer import Offer, options_of
from openenv_gym_server.vector.parts import Part, Row, ValuesPart, failed, with_final, written_info, written_value
from openenv_gym_server.vector.values import plain
from openenv_gym_server.watched import NO_OPTIONS

_ENDED = TERMINATED | TRUNCATED

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


class StepOrder(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a step asks of lanes besides their actions.

    Attributes:
        next_seeds: The seed of each, should it reset by itself, or None.
        deadline: When the request is given up, on the monotonic clock, in seconds; None for the server's own limit.
        limit: The seconds that there were until then when it came.
    """

    next_seeds: Sequence[int | None] | None = None
    deadline: float | None = None
    limit: float | None = None

    def seed(self, position: int) -> int | None:
        """The seed of the lane that stands there."""
        return None if self.next_seeds is None else self.next_seeds[position]

    def left(self) -> float | None:
        """The seconds until the deadline."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0)


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
    """Carries out what is asked of a member besides steps."""

    member: Member

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Part | Row:
        """Starts episodes."""

    async def states(self, host: Host, lanes: Sequence[int]) -> ValuesPart:
        """Reads the state of each lane."""


class LaneDriver:
    """One lane with an environment of its own.

    Args:
        member: The lane.
        rules: When it resets by itself and when its episode is cut off.

    Attributes:
        member: As it was given.
        lane: Its number.
    """

    def __init__(self, member: Member, rules: LaneRules) -> None:
        self.member = member
        (self.lane,) = member.lanes
        self._host = member.session.host
        self._rules = rules
        offer = member.offer
        self._observations = offer.observations
        self._packer = offer.packer
        self._may_reset = not offer.is_in_production
        self._takes_values = offer.takes_values and member.session.host.has_values
        self._begins_with_values = offer.takes_values and member.session.host.begins_with_values

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Row:
        """Starts an episode."""
        del lanes  # there is one
        seed = order.seeds[0] if order.seeds else None
        begun = await self._begun(host, seed, order.options)
        return _as(begun, 0.0, self._rules.reset(seed).flags)

    async def step(self, host: Host, actions: LaneActions, position: int, order: StepOrder) -> Part | Row:
        """Takes a step, or what the autoreset says.

        Args:
            host: Owns the environment.
            actions: The actions of the request.
            position: Where the lane stands in it.
            order: What else was asked.
        """
        if self._may_reset and self._rules.plan() is Move.RESET:
            return await self._reset_in_place(host, order.seed(position))
        left = order.left()
        result = await host.step(actions.fields(position), None if left is None else {"timeout_s": left})
        row = self._noted(host, result)
        return await self._reset_after(host, row, order.seed(position)) if self._rules.resets_now else row

    def step_at_once(self, actions: LaneActions, position: int, order: StepOrder) -> Part | Row:
        """Does what ``step`` does, for an environment that does not await: without a coroutine it takes half the time.

        An environment that has ``step_values`` is stepped by that. It raises nothing: what fails is the answer.
        """
        host, rules = self._host, self._rules
        host.patience = order.limit
        try:
            # In production nothing can be reset: the host says so, and not that a reset is missing.
            if not rules.steps_next and self._may_reset and rules.plan() is Move.RESET:
                return run_to_end(self._reset_in_place(host, order.seed(position)))
            if self._takes_values:
                ready = actions.ready
                action = actions.value(position) if ready is None else ready[position]
                row = self._noted_values(host, host.step_values(action, order.deadline))
            else:
                options = NO_OPTIONS if order.deadline is None else {"timeout_s": order.left()}
                known = actions.known
                fields = actions.fields(position) if known is None else known[position]
                row = self._noted(host, host.step_at_once(Host.taken_apart, fields, options))
            if row[4] & _ENDED and rules.resets_now:
                return run_to_end(self._reset_after(host, row, order.seed(position)))
            return row
        except BaseException as error:
            return cast(Part, failed_by(error, host, Part, (self.lane,)))
        finally:
            host.patience = None

    async def states(self, host: Host, lanes: Sequence[int]) -> ValuesPart:
        """Reads the environment's state."""
        return states_of(host, lanes, [await host.state()])

    async def _reset_in_place(self, host: Host, seed: int | None) -> Row:
        begun = await self._begun(host, seed)
        return _as(begun, 0.0, self._rules.reset_in_place(seed).flags)

    async def _reset_after(self, host: Host, ended: Row, seed: int | None) -> Part:
        begun = await self._begun(host, seed)
        _, _, _, reward, flags, _ = ended
        return with_final(_as(begun, reward, self._rules.flags_after(flags, seed)), ended)

    def _noted(self, host: Host, result: Result) -> Row:
        reward, metadata = result.reward, result.metadata
        truncated = is_truncated(metadata) if metadata else False
        # Noted before anything of it can fail: the step has happened.
        flags = self._rules.noted(
            terminated=result.done and not truncated, truncated=truncated, is_reward_missing=reward is None
        )
        try:
            if self._packer is None or metadata or type(reward) is not float:
                return self._row(result, flags)
            # What _row does of most steps, in one call less.
            return self.lane, self._packer.pack(result.observation), None, reward, flags, None
        except OpenEnvGymError as error:
            raise unwritable(host, error) from error

    def _noted_values(self, host: Host, told: Values) -> Row:
        value, reward, terminated, truncated, info = told
        flags = self._rules.noted(
            terminated=bool(terminated), truncated=bool(truncated), is_reward_missing=reward is None
        )
        assert self._observations is not None
        try:
            short = self._observations.short(value)
            packed = self._observations.pack_value(value) if short is None else (short,)
            written = written_info(info) if info else None
            return self.lane, packed, None, reward if type(reward) is float else _reward(reward), flags, written
        except OpenEnvGymError as error:
            raise unwritable(host, error) from error

    async def _begun(self, host: Host, seed: int | None, once: dict[str, Any] | None = None) -> Row:
        """Resets the environment; the row has the observation and the info. What of it fails is noted nowhere."""
        options = plain(options_of(self.member.options, once))
        data = options if seed is None else {**options, "seed": seed}
        if self._begins_with_values:
            value, info = await host.reset_values(data)
            assert self._observations is not None
            with reporting(host):
                packed = self._observations.pack_value(value)
                return self.lane, packed, None, 0.0, 0, written_info(info) if info else None
        result = await host.reset(data)
        with reporting(host):
            result.reward = None
            return self._row(result, 0)

    def _row(self, result: Result, flags: int) -> Row:
        observation, reward, metadata = result.observation, result.reward, result.metadata
        packed = written = None
        if self._packer is not None:
            packed = self._packer.pack(observation)
        else:
            # The metadata travels as the info, and not twice.
            written = written_value({key: item for key, item in observation.items() if key != "metadata"})
        info = written_value(metadata) if metadata else None
        return self.lane, packed, written, reward if type(reward) is float else _reward(reward), flags, info


def _as(row: Row, reward: float, flags: int) -> Row:
    lane, packed, written, _, _, info = row
    return lane, packed, written, reward, flags, info


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
        if isinstance(error, OpenEnvGymError):
            raise unwritable(self._host, error) from error


def unwritable(host: Host, error: OpenEnvGymError) -> OpenEnvGymError:
    """What is told of an error in what an environment returned, which is logged: see ``reporting``."""
    if isinstance(error, ExecutionError):
        return host.report(error, "writing the answer")
    if isinstance(error, InvalidObservation):
        host.report(error, "writing the answer")
    return error


def guarded(kind: type[Part] | type[ValuesPart], lanes: Sequence[int], work: Work) -> Work:
    """The same work, with whatever it raises as its answer."""

    async def answer(host: Host) -> Any:
        try:
            return await work(host)
        except Exception as error:
            return failed_by(error, host, kind, lanes)

    return answer


def failed_by(
    error: BaseException, host: Host, kind: type[Part] | type[ValuesPart], lanes: Sequence[int]
) -> Part | ValuesPart:
    """The part of lanes whose work raised something."""
    if not isinstance(error, OpenEnvGymError):
        # What the environment returned was none of what it may return.
        error = host.report(error, "the request")
    return failed(kind, lanes, error)


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


def _reward(reward: Any) -> float:
    try:
        return 0.0 if reward is None else float(reward)
    except (OverflowError, TypeError, ValueError) as error:
        raise ExecutionError(f"The environment returned a reward that is no float: {error}") from error
