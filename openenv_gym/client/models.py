"""The models of a client class, and what they make of payloads."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from types import UnionType
from typing import Any, ForwardRef, Generic, SupportsIndex, TypeVar, Union, get_args, get_origin

from openenv_gym_protocol import codec, errors
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

_T = TypeVar("_T")

_METHOD_OF = {"action": "_step_payload", "observation": "_parse_result", "state": "_parse_state"}
"""The client's method that uses each model, in the order of the type arguments."""


def generic_arguments(cls: type, base: type) -> tuple[Any, ...]:
    """What a class gives for the type parameters of one of its bases, through every class between.

    Args:
        cls: The class.
        base: A generic class that it derives from.

    Returns:
        One argument a parameter; an empty tuple when none are given. A parameter that stays open is a TypeVar.
    """
    for parent in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(parent) or parent
        if origin is base:
            return get_args(parent)
        if isinstance(origin, type) and issubclass(origin, base):
            inherited = generic_arguments(origin, base)
            given = dict(zip(getattr(origin, "__parameters__", ()), get_args(parent), strict=False))
            return tuple(given.get(argument, argument) for argument in inherited)
    for plain in cls.__bases__:
        if issubclass(plain, base) and plain is not base:
            return generic_arguments(plain, base)
    return ()


class Model(Generic[_T]):
    """One type of a client's, checked and filled by pydantic: a model, a dataclass, or a plain mapping.

    Args:
        kind: The type.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self._adapter: TypeAdapter[_T] = TypeAdapter(kind)
        self.fields = _field_names(kind)

    def read(self, payload: Mapping[str, Any], what: str) -> _T:
        """Builds a value from a payload of the server's.

        Args:
            payload: The fields.
            what: What the payload is, for the message: ``observation`` or ``state``.

        Raises:
            UnexpectedReply: The payload does not fit; the message names the first field that does not.
        """
        try:
            return self._adapter.validate_python(payload)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or what
            raise errors.UnexpectedReply(
                f"The server's {what} does not fit {_name(self.kind)} at {where!r}: {fault['msg']}. Client and server "
                "may be of different versions."
            ) from error

    def write(self, action: Any) -> dict[str, Any]:
        """Makes the payload of an action: its fields, without metadata when there is none.

        Raises:
            InvalidAction: It is no action of this type.
        """
        if isinstance(action, Mapping) and self.fields is not None:
            action = self._checked(action)
        payload = plain_fields(action)
        if payload is None:
            raise errors.InvalidAction(f"An action must be a {_name(self.kind)} or its fields, not {action!r}.")
        if not payload.get("metadata", True):
            del payload["metadata"]
        return payload

    def _checked(self, fields: Mapping[Any, Any]) -> _T:
        try:
            return self._adapter.validate_python(dict(fields))
        except ValidationError as error:
            faults = codec.faults_of(error)
            told = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:5])
            raise errors.InvalidAction(f"The action does not fit {_name(self.kind)}: {told}.") from error


@dataclasses.dataclass(frozen=True)
class ClientModels:
    """The three models of a client class; None where the class reads or writes that payload itself."""

    action: Model[Any] | None
    observation: Model[Any] | None
    state: Model[Any] | None

    @classmethod
    def of(cls, client: type, base: type) -> ClientModels:
        """Finds the models that a client class names in ``base[...]``.

        Args:
            client: The class.
            base: The generic client class that it derives from.

        Raises:
            ConfigurationError: A model is needed, because its method is not overridden, and not named.
        """
        kinds = generic_arguments(client, base)
        found: dict[str, Model[Any] | None] = {}
        for index, (name, method) in enumerate(_METHOD_OF.items()):
            overridden = getattr(client, method) is not getattr(base, method)
            kind = kinds[index] if index < len(kinds) else None
            found[name] = None if overridden else _model(client, base, name, kind)
        return cls(**found)

    def read_observation(self, payload: Mapping[str, Any]) -> Any:
        """Builds the observation from a reply's ``data``, with the reward and the rest that travel beside it.

        Raises:
            UnexpectedReply: The payload does not fit.
        """
        assert self.observation is not None
        fields = payload.get("observation", {})
        names = self.observation.fields
        if names is not None:
            beside = {name: payload[name] for name in ("reward", "done", "metadata") if name in payload}
            fields = {name: value for name, value in beside.items() if name in names} | dict(fields)
        return self.observation.read(fields, "observation")


def plain_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a model, dataclass or mapping by name, as they go on the wire; None for anything else."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return None


def _field_names(kind: Any) -> frozenset[str] | None:
    """The names of a model's or dataclass's fields, of a union those of all its members; None for other types."""
    if get_origin(kind) in (Union, UnionType):
        members = [_field_names(member) for member in get_args(kind)]
        return None if None in members else frozenset.intersection(*(names for names in members if names is not None))
    if not isinstance(kind, type):
        return None
    if issubclass(kind, BaseModel):
        return frozenset(kind.model_fields)
    if dataclasses.is_dataclass(kind):
        return frozenset(field.name for field in dataclasses.fields(kind))
    return None


def _model(client: type, base: type, name: str, kind: Any) -> Model[Any]:
    if kind is None or isinstance(kind, TypeVar | ForwardRef):
        raise errors.ConfigurationError(
            f"{client.__name__} names no {name} model: write `class {client.__name__}({base.__name__}[MyAction, "
            f"MyObservation, MyState])`, override {_METHOD_OF[name]}(), or use GenericEnvClient for dictionaries."
        )
    try:
        return Model(kind)
    except PydanticUserError as error:
        raise errors.ConfigurationError(f"{_name(kind)} cannot be the {name} model: {error}.") from error


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def whole_seed(seed: SupportsIndex) -> int:
    """A seed as an integer of Python's.

    Raises:
        ConfigurationError: It is no integer.
    """
    try:
        return operator.index(seed)
    except TypeError as error:
        raise errors.ConfigurationError(f"A seed must be an integer, not {seed!r}.") from error
