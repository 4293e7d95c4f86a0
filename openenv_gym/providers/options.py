"""A provider's options as a dataclass: an unknown name or a wrong type is an error before anything starts."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal, TypeVar

from openenv_gym_protocol.errors import ConfigurationError, UnknownOption, nearest

from openenv_gym.providers.base import ServerRequest

_Options = TypeVar("_Options")

SHARED_OPTIONS = ("name", "linger", "spares")
"""Options of every provider, which are read before a request is made."""


def read_options(request: ServerRequest, options: type[_Options]) -> _Options:
    """Makes a provider's options from a request.

    Args:
        request: Where they stand.
        options: A dataclass with a default for each field, and fields of JSON's types: ``str``, ``int``, ``float``,
            ``bool``, ``None``, ``list[...]``, ``dict[str, ...]``, a ``Literal`` of texts, and unions of those.

    Raises:
        UnknownOption: One that the dataclass has no field for; the nearest is named.
        ConfigurationError: One of another type, or none of the choices; the nearest is named.
    """
    kinds = typing.get_type_hints(options)
    for name, value in request.options:
        if name not in kinds:
            raise UnknownOption(
                f"provider {request.provider!r} got an unexpected keyword argument {name!r}. "
                + nearest(name, {*kinds, *SHARED_OPTIONS})
            )
        if not _fits(value, kinds[name]):
            raise ConfigurationError(
                f"provider {request.provider!r}: option {name!r} must be {_spelt(kinds[name])}, not {value!r}."
                + _meant(value, kinds[name])
            )
    return options(**dict(request.options))


def _fits(value: Any, kind: Any) -> bool:
    alternatives = _alternatives(kind)
    if len(alternatives) > 1:
        return any(_fits(value, each) for each in alternatives)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return value in inner
    if origin is list:
        return type(value) is list and all(_fits(each, inner[0]) for each in value)
    if origin is dict:
        return type(value) is dict and all(
            _fits(key, inner[0]) and _fits(each, inner[1]) for key, each in value.items()
        )
    # A bool is an int to Python; a number of seconds may be written without its point.
    return type(value) is kind or (type(value) is int and kind is float)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)


def _spelt(kind: Any) -> str:
    alternatives = _alternatives(kind)
    if len(alternatives) > 1:
        return " or ".join(_spelt(each) for each in alternatives)
    if kind is types.NoneType:
        return "None"
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(repr(choice) for choice in inner)
    if origin is not None:
        return f"{origin.__name__}[{', '.join(_spelt(each) for each in inner)}]"
    return str(kind.__name__)


def _meant(value: Any, kind: Any) -> str:
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    return f" {nearest(value, choices)}" if choices and isinstance(value, str) else ""
