"""The least and the greatest numbers of a leaf: whether values that fit its shape and dtype are in its space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from openenv_gym_protocol.vector.array_data import ITEM_BYTES
from openenv_gym_protocol.vector.leaves import Leaf, Misfit, flattened


class Limits(NamedTuple):
    """The bounds of one leaf in arrays of its shape and dtype.

    Attributes:
        low: The least numbers.
        high: The greatest.
    """

    low: Any
    high: Any

    def inside(self, array: Any) -> Any:
        """Which rows of an array of shape ``(rows, *leaf shape)`` are inside: booleans of shape ``(rows,)``."""
        # Written so that NaN is outside too.
        inside = (array >= self.low) & (array <= self.high)
        return inside if inside.ndim == 1 else inside.reshape(len(array), -1).all(axis=1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one leaf; made by ``bounds_of``.

    Attributes:
        leaf: The leaf.
        low: The least number of each element in C order; a single one where it is that of all.
        high: The greatest, in the same form.
    """

    leaf: Leaf
    low: Sequence[Any]
    high: Sequence[Any]

    @property
    def are_those_of_the_dtype(self) -> bool:
        """Whether nothing that the dtype can hold is outside."""
        if self.leaf.dtype.startswith(("float", "bool")):
            return self.leaf.dtype == "bool"
        bits = 8 * ITEM_BYTES[self.leaf.dtype]
        least, most = (0, 2**bits - 1) if self.leaf.dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return all(number <= least for number in self.low) and all(number >= most for number in self.high)

    def check(self, value: Any) -> None:
        """Refuses a value outside.

        Args:
            value: As ``Leaf.unpack`` gives it.

        Raises:
            Misfit: It is outside, or has NaN.
        """
        if not self.leaf.shape and self.low[0] <= value <= self.high[0]:
            return
        numbers = list(flattened(value, self.leaf.shape))
        for number, low, high in zip(numbers, self._each(self.low), self._each(self.high), strict=True):
            if not low <= number <= high:
                name = f"{self.leaf.name}: " if self.leaf.path else ""
                raise Misfit(f"{name}{number!r} is outside [{low}, {high}]")

    def inside(self, array: Any, numpy: Any) -> Any:
        """Which rows of an array are inside: booleans of shape ``(rows,)``.

        Args:
            array: Of shape ``(rows, *leaf shape)``.
            numpy: The module.
        """
        return self.limits(numpy).inside(array)

    def limits(self, numpy: Any) -> Limits:
        """The bounds for many arrays.

        Args:
            numpy: The module.
        """
        return Limits(self._array(self.low, numpy), self._array(self.high, numpy))

    def _each(self, numbers: Sequence[Any]) -> Iterable[Any]:
        return numbers if len(numbers) == self.leaf.elements else [numbers[0]] * self.leaf.elements

    def _array(self, numbers: Sequence[Any], numpy: Any) -> Any:
        array = numpy.asarray(numbers, self.leaf.dtype)
        return array.reshape(self.leaf.shape) if len(numbers) == self.leaf.elements else array[0]


def bounds_of(space: Mapping[str, Any], leaf: Leaf) -> Bounds:
    """The bounds of a leaf.

    Args:
        space: Its space, as data.
        leaf: The leaf.
    """
    kind = space["type"]
    if kind == "Box":
        return Bounds(leaf, _of_dtype(leaf, _numbers(space["low"])), _of_dtype(leaf, _numbers(space["high"])))
    if kind == "MultiBinary":
        return Bounds(leaf, (0,), (1,))
    counts = _numbers(space["n"] if kind == "Discrete" else space["nvec"])
    first = _numbers(space.get("start") or 0)
    low = first if len(first) == len(counts) else first * len(counts)
    return Bounds(leaf, low, [start + count - 1 for start, count in zip(low, counts, strict=True)])


def leaf_spaces(space: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The spaces of a fixed-shape space's leaves, in the order of its columns."""
    if space["type"] == "Dict":
        for part in space["spaces"].values():
            yield from leaf_spaces(part)
    elif space["type"] == "Tuple":
        for part in space["spaces"]:
            yield from leaf_spaces(part)
    else:
        yield space


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [number for item in value for number in _numbers(item)]
    return [float(value) if isinstance(value, str) else value]


def _of_dtype(leaf: Leaf, numbers: list[Any]) -> Sequence[Any]:
    """The numbers as the dtype has them: values are rounded to it, and so are bounds."""
    if not leaf.dtype.startswith("float"):
        return numbers
    flat = Leaf((), leaf.dtype, (len(numbers),))
    rounded: Sequence[Any] = flat.unpack(flat.pack(numbers))[0] if numbers else []
    return rounded
