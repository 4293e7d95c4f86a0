"""A provider's options as a dataclass: an unknown name or a wrong type is an error before anything starts."""

from __future__ import annotations

import types
import typing
from typing import Any, TypeVar

from openenv_gym_protocol.errors import ConfigurationError, UnknownOption, nearest

from openenv_gym.providers.base import ServerRequest

_Options = TypeVar("_Options")


def read_options(request: ServerRequest, options: type[_Options]) -> _Options:
    """Makes a provider's options from a request.

    Args:
        request: Where they stand.
        options: A dataclass with a default for each field, and fields of plain types.

    Raises:
        UnknownOption: One that the dataclass has no field for; the nearest is named.
        ConfigurationError: One of another type.
    """
    kinds = typing.get_type_hints(options)
    for name, value in request.options:
        if name not in kinds:
            raise UnknownOption(
                f"provider {request.provider!r} got an unexpected keyword argument {name!r}. {nearest(name, kinds)}"
            )
        _check_kind(request.provider, name, value, kinds[name])
    return options(**dict(request.options))


def _check_kind(provider: str, name: str, value: Any, kind: Any) -> None:
    allowed = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    # A bool is an int to Python; a number of seconds may be written without its point.
    fits = type(value) in allowed or (type(value) is int and float in allowed)
    if not fits:
        expected = " or ".join("None" if each is types.NoneType else each.__name__ for each in allowed)
        raise ConfigurationError(f"provider {provider!r}: option {name!r} must be {expected}, not {value!r}.")
