"""Gymnasium environments that draw their observations from a space, and answer an action with a number made from it."""

from __future__ import annotations

import zlib
from typing import Any

import gymnasium
import numpy as np
from gymnasium import Space, spaces
from gymnasium.spaces.graph import GraphInstance
from gymnasium.vector.utils import concatenate, create_empty_array

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

SPACES: dict[str, Space[Any]] = {
    "box-float32": spaces.Box(-1, 1, (3,), np.float32),
    "box-float64": spaces.Box(-10, 10, (2, 2), np.float64),
    "box-int64": spaces.Box(-(2**53), 2**53, (2,), np.int64),
    "box-int8": spaces.Box(-5, 5, (4,), np.int8),
    "box-uint8": spaces.Box(0, 255, (5,), np.uint8),
    "box-picture": spaces.Box(0, 255, (4, 5, 3), np.uint8),
    "box-scalar": spaces.Box(-1, 1, (), np.float32),
    "box-unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "box-half-bounded": spaces.Box(np.array([0, -np.inf], np.float32), np.array([np.inf, 3], np.float32)),
    "discrete": spaces.Discrete(5),
    "discrete-start": spaces.Discrete(5, start=-2),
    "multi-discrete": spaces.MultiDiscrete([2, 3, 4]),
    "multi-discrete-start": spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[1, 0], [-1, 7]])),
    "multi-binary": spaces.MultiBinary(6),
    "multi-binary-rows": spaces.MultiBinary([2, 3]),
    "text": spaces.Text(12, charset=_LETTERS),
    "tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(-1, 1, (2,)))),
    "tuple-nested": spaces.Tuple((spaces.Tuple((spaces.Discrete(2), spaces.Discrete(4, start=1))), spaces.Text(4))),
    "dict": spaces.Dict({"where": spaces.Box(-1, 1, (2,)), "mode": spaces.Discrete(3)}),
    "dict-unsorted": spaces.Dict([("z", spaces.Discrete(3)), ("a", spaces.MultiBinary(2))]),
    "dict-nested": spaces.Dict(
        {"a": spaces.Dict({"b": spaces.Box(-1, 1, (1,)), "c": spaces.MultiDiscrete([2, 2])}), "d": spaces.Discrete(2)}
    ),
    "sequence": spaces.Sequence(spaces.Box(-1, 1, (2,))),
    "sequence-dict": spaces.Sequence(spaces.Dict({"name": spaces.Text(5), "size": spaces.Discrete(9)})),
    "sequence-stacked": spaces.Sequence(spaces.Box(-1, 1, (2,)), stack=True),
    "graph": spaces.Graph(spaces.Box(-1, 1, (2,)), spaces.Discrete(4)),
    "graph-no-edges": spaces.Graph(spaces.Discrete(3), None),
    "one-of": spaces.OneOf((spaces.Discrete(3), spaces.Box(-1, 1, (2,)), spaces.Text(5))),
    "dict-mixed": spaces.Dict(
        {
            "text": spaces.Text(8),
            "either": spaces.OneOf((spaces.Discrete(2), spaces.Discrete(9))),
            "rows": spaces.Sequence(spaces.Discrete(4)),
            "number": spaces.Box(-1, 1, (1,)),
        }
    ),
}
"""What they are served with, as the space of both observations and actions."""

ID = "drawn/Drawn-v0"


class Drawn(gymnasium.Env[Any, Any]):
    """Its episodes have a random length, and end or are cut off by turns of their length.

    Args:
        space: The name of one in ``SPACES``.
    """

    def __init__(self, space: str = "box-float32") -> None:
        self.observation_space = self.action_space = SPACES[space]
        self._steps = self._length = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        self._length = int(self.np_random.integers(2, 6))
        return draw(self.observation_space, self.np_random), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        is_over = self._steps >= self._length
        terminated = is_over and self._length % 2 == 0
        observation = draw(self.observation_space, self.np_random)
        return observation, number_of(action), terminated, is_over and not terminated, self._info()

    def _info(self) -> dict[str, Any]:
        return {"steps": self._steps, "share": self._steps / self._length, "place": np.array([self._steps, 0.5])}


def draw(space: Space[Any], generator: np.random.Generator) -> Any:
    """A value of a space, the same in every process and in every release of Gymnasium."""
    match space:
        case spaces.Discrete():
            return np.int64(generator.integers(space.start, space.start + space.n))
        case spaces.MultiDiscrete():
            return generator.integers(space.start, space.start + space.nvec, dtype=space.dtype)
        case spaces.MultiBinary():
            return generator.integers(0, 2, space.shape, dtype=np.int8)
        case spaces.Box():
            return _number(space, generator)
        case spaces.Text():
            length = int(generator.integers(space.min_length, space.max_length + 1))
            return "".join(_LETTERS[index] for index in generator.integers(len(_LETTERS), size=length))
    return _composite(space, generator)


def _composite(space: Space[Any], generator: np.random.Generator) -> Any:
    match space:
        case spaces.Tuple():
            return tuple(draw(part, generator) for part in space.spaces)
        case spaces.Dict():
            return {name: draw(part, generator) for name, part in space.spaces.items()}
        case spaces.Sequence() if space.stack:
            return _rows(space.feature_space, int(generator.integers(4)), generator)
        case spaces.Graph():
            return _graph(space, generator)
        case spaces.Sequence():
            return tuple(draw(space.feature_space, generator) for _ in range(generator.integers(4)))
        case spaces.OneOf():
            index = np.int64(generator.integers(len(space.spaces)))
            return index, draw(space.spaces[index], generator)
    raise TypeError(f"nothing is drawn from {space}")


def _rows(space: Space[Any], count: int, generator: np.random.Generator) -> Any:
    values = [draw(space, generator) for _ in range(count)]
    return batched(space, values) if values else create_empty_array(space, 0)


def _graph(space: spaces.Graph, generator: np.random.Generator) -> GraphInstance:
    nodes, edges = (int(count) for count in generator.integers((1, 0), (5, 4)))
    drawn = _rows(space.node_space, nodes, generator)
    if space.edge_space is None or edges == 0:
        return GraphInstance(drawn, None, None)
    links = generator.integers(0, nodes, (edges, 2), dtype=np.int32)
    return GraphInstance(drawn, _rows(space.edge_space, edges, generator), links)


def _number(space: spaces.Box, generator: np.random.Generator) -> Any:
    low = np.where(np.isfinite(space.low), space.low, -100).astype(np.float64)
    high = np.where(np.isfinite(space.high), space.high, 100).astype(np.float64)
    value = low + (high - low) * generator.random(space.shape)
    whole = np.issubdtype(space.dtype, np.integer)
    return np.asarray(np.rint(value) if whole else value).astype(space.dtype)


def number_of(action: Any) -> float:
    """A number that another action would hardly have."""
    return zlib.crc32(repr(_plain(action)).encode()) % 100_003 / 7


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [[name, _plain(value[name])] for name in sorted(value)]
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else np.asarray(value).tolist()


def batched(space: Space[Any], values: list[Any]) -> Any:
    """Values of a space as one of its batch, as Gymnasium's vector environments take actions."""
    out: Any = create_empty_array(space, len(values))
    return concatenate(space, values, out)


def register() -> None:
    """Registers the id, as often as it is called."""
    if ID not in gymnasium.registry:
        gymnasium.register(ID, entry_point="tests.support.drawn:Drawn")
