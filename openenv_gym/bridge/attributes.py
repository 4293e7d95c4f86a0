"""What is read, set, called and rendered of the environments themselves, which the vector wire alone carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
from openenv_gym_protocol.errors import ConfigurationError, nearest
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import arrays_replaced

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

        def request(group: VectorGroup, number: int, lanes: Sequence[int]) -> frames.Request:
            return frames.Call(id=number, lanes=group.numbers(lanes), name=name, args=list(args), kwargs=dict(kwargs))

        return self._ask("call", name, request)

    def get(self, name: str) -> tuple[Any, ...]:
        """Reads an attribute of every environment; errors as ``call``.

        Raises:
            InvalidMessage: It is a method, which can be called alone.
        """

        def request(group: VectorGroup, number: int, lanes: Sequence[int]) -> frames.Request:
            return frames.Get(id=number, lanes=group.numbers(lanes), name=name)

        return self._ask("get", name, request)

    def check(self, name: str) -> None:
        """Refuses a name that the environment does not allow; lanes that were never connected are.

        Raises:
            AttributeError: It does not, or a lane is on the standard wire.
            OpenEnvGymError: A lane cannot be connected.
        """
        if name.startswith("_"):
            raise AttributeError(f"A remote environment has no {name!r}.")  # what no environment can allow
        everyone = range(len(self._lanes))
        if self._setup.wire != "standard":
            # The name may be one that is set before the first reset; which there are is known when lanes are open.
            for error in self._lanes.connect([lane for lane in everyone if self._lanes[lane].is_unused]).values():
                raise error
        for group, _ in self._lanes.grouped(everyone):
            _check_name(group, name)

    def set(self, name: str, values: Sequence[Any]) -> None:
        """Sets an attribute of every environment; same errors as ``call``."""

        def request(group: VectorGroup, number: int, lanes: Sequence[int]) -> frames.Request:
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

        def request(group: VectorGroup, number: int, lanes: Sequence[int]) -> frames.Request:
            return frames.Render(id=number, lanes=group.numbers(lanes))

        return self._ask("render", None, request)

    def _ask(
        self, call: str, name: str | None, request: Callable[[VectorGroup, int, Sequence[int]], frames.Request]
    ) -> tuple[Any, ...]:
        if name is not None:
            self.check(name)
        asks: list[Ask] = []
        for group, members in self._lanes.grouped(range(len(self._lanes))):
            assert isinstance(group, VectorGroup)  # others were refused

            def of_lanes(number: int, lanes: Sequence[int], group: VectorGroup = group) -> frames.Request:
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


def warn_of_no_render_mode() -> None:
    """Says why nothing is rendered, as Gymnasium's own environments do."""
    gymnasium.logger.warn(
        "render() was called without a render_mode, so that nothing is rendered. Name one when the environment is "
        "made, such as gymnasium.make(..., render_mode='rgb_array')."
    )


def _check_name(group: object, name: str) -> None:
    if not isinstance(group, VectorGroup):
        raise AttributeError(
            f"A remote environment has no {name!r}: its server speaks the standard wire, which carries no attributes."
        )
    allowed = group.link.opened.callable_names if group.link.opened is not None else []
    if name not in allowed:
        raise AttributeError(f"The environment does not allow {name!r}. {nearest(name, allowed)}")


def _value(value: Any) -> Any:
    return arrays_replaced(value, array_of)
