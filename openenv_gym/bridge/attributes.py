"""What is read, set, called and rendered of the environments themselves, which the vector wire alone carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, nearest
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import ArrayData

from openenv_gym.bridge.columns import array_of
from openenv_gym.bridge.lanes.answers import Ask
from openenv_gym.bridge.lanes.lanes import Lanes
from openenv_gym.bridge.lanes.vector import VectorGroup
from openenv_gym.bridge.setup import Setup


class LaneAttributes:
    """The attributes of the environments of all lanes.

    Args:
        lanes: The lanes, of which none is under way.
        setup: What they are made from.
    """

    def __init__(self, lanes: Lanes, setup: Setup) -> None:
        self._lanes = lanes
        self._setup = setup

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Calls a method of every environment, or reads an attribute.

        Raises:
            AttributeError: The environment does not allow the name.
            OpenEnvGymError: A lane failed.
        """

        def request(group: VectorGroup, number: int, lanes: list[int]) -> frames.Request:
            return frames.Call(id=number, lanes=group.numbers(lanes), name=name, args=list(args), kwargs=dict(kwargs))

        return self._ask("call", name, request)

    def set(self, name: str, values: Sequence[Any]) -> None:
        """Sets an attribute of every environment; same errors as ``call``."""

        def request(group: VectorGroup, number: int, lanes: list[int]) -> frames.Request:
            each = [values[lane] for lane in lanes]
            return frames.Set(id=number, lanes=group.numbers(lanes), name=name, values=each)

        self._ask("set", name, request)

    def render(self) -> tuple[Any, ...]:
        """A picture or a text of every environment.

        Raises:
            ConfigurationError: A lane is on the standard wire.
            OpenEnvGymError: A lane failed.
        """
        for lane in range(len(self._lanes)):
            if not isinstance(self._lanes.group_of(lane), VectorGroup):
                raise ConfigurationError("The server speaks the standard wire alone, which carries no pictures.")

        def request(group: VectorGroup, number: int, lanes: list[int]) -> frames.Request:
            return frames.Render(id=number, lanes=group.numbers(lanes))

        return self._ask("render", None, request)

    def _ask(
        self, call: str, name: str | None, request: Callable[[VectorGroup, int, list[int]], frames.Request]
    ) -> tuple[Any, ...]:
        asks: list[Ask] = []
        everyone = range(len(self._lanes))
        if self._setup.wire != "standard":
            # The name may be one that is set before the first reset; which there are is known when lanes are open.
            for error in self._lanes.connect([lane for lane in everyone if self._lanes[lane].is_unused]).values():
                raise error
        for group, members in self._lanes.grouped(everyone):
            if name is not None:
                _check_name(group, name)
            assert isinstance(group, VectorGroup)  # others were refused

            def of_lanes(number: int, lanes: list[int], group: VectorGroup = group) -> frames.Request:
                return request(group, number, lanes)

            asks += group.ask(call, members, of_lanes)
        values: dict[int, Any] = {}
        answers = self._lanes.ask(asks, self._setup.timeouts.step)
        failed = {lane: error for answer in answers for lane, error in answer.errors.items()}
        if failed:
            raise failed[min(failed)]
        for answer in answers:
            values.update(zip(answer.lanes, map(_value, answer.reply.values), strict=True))
        return tuple([values[lane] for lane in sorted(values)])


def _check_name(group: object, name: str) -> None:
    if not isinstance(group, VectorGroup):
        raise AttributeError(
            f"A remote environment has no {name!r}: its server speaks the standard wire, which carries no attributes."
        )
    allowed = group.link.opened.callable_names if group.link.opened is not None else []
    if name not in allowed:
        raise AttributeError(f"The environment does not allow {name!r}. {nearest(name, allowed)}")


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    return array_of(value) if isinstance(value, ArrayData) else value
