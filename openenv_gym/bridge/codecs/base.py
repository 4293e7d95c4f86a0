"""Payloads to values of a space, and back.

A payload is a plain JSON value; a value is what Gymnasium's spaces hold. Codecs form a tree as their spaces do.
``decode`` reads what a server sent, ``encode`` writes what it is to be sent; both check, and refuse with the name
of the field. Every value is a new object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

Columns: TypeAlias = Mapping[tuple[str | int, ...], NDArray[Any]]
"""An array of shape ``(payloads, *leaf shape)`` for each leaf of a space, by its path."""

MISSING: Any = object()
"""What stands for a key that is not there."""


NULL = "null"
"""What a refusal calls the payload null, and the value None."""


class Refusal(Exception):
    """A value that does not fit; codecs on the way up put the names of the fields in front."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def within(self, name: str | int) -> Refusal:
        """Notes the field that the value stands in."""
        self.path.insert(0, str(name))
        return self

    def text(self, root: str) -> str:
        """Says which part of the root does not fit, and why."""
        field = f"'s field {'.'.join(self.path)!r}" if self.path else ""
        return f"{root}{field} is invalid: {self.reason}."


class Codec(ABC):
    """How one part of a payload and one space belong together.

    Attributes:
        space: What ``decode`` returns values of.
    """

    space: Space[Any]
    rank: int = 1
    """The order in which a union's branches are tried: narrow types come first."""
    may_be_missing: ClassVar[bool] = False
    """Whether the key of the payload may not be there."""

    @abstractmethod
    def decode(self, payload: Any) -> Any:
        """Reads a payload.

        Raises:
            Refusal: It is not what the space holds.
        """

    def columns(self, payloads: Sequence[Any]) -> Columns | None:  # noqa: ARG002
        """Reads many payloads at once, where each is plainly what the space holds.

        Returns:
            What ``decode`` would return of each, as new arrays; None to have each looked at by itself.
        """
        return None

    @abstractmethod
    def encode(self, value: Any) -> Any:
        """Writes a value, which may be any reasonable form of one: a Python or numpy number, a 0-d array.

        Raises:
            Refusal: It is outside the space.
        """

    def draw(self, rng: np.random.Generator) -> Any:
        """Draws a payload."""
        self.space.seed(int(rng.integers(2**31)))
        return self.encode(self.space.sample())


def as_array(value: Any) -> NDArray[Any]:
    """An array of whatever can be one.

    Raises:
        Refusal: It is ragged, or no array at all.
    """
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise Refusal(f"{shown(value)} is no array") from None


def blank(space: Space[Any]) -> Any:
    """The value nearest to zero in a numeric space; the shortest in others."""
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high).astype(space.dtype)
    if isinstance(space, spaces.Discrete):
        return np.int64(space.start)
    if isinstance(space, spaces.Dict):
        return OrderedDict((key, blank(part)) for key, part in space.spaces.items())
    if isinstance(space, spaces.MultiBinary | spaces.MultiDiscrete):
        return np.zeros(space.shape, space.dtype)
    if isinstance(space, spaces.Text):
        return " " * space.min_length if space.min_length != 1 else "0"
    raise TypeError(f"{space} has no blank value")


def shown(value: Any) -> str:
    """A value for an error's text, short however large it is."""
    if value is None:
        return NULL
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"an array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
