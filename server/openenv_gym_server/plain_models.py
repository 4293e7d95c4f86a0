"""Which models write the same JSON at once as their fields do that were dumped before."""

from __future__ import annotations

import functools
import inspect
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

_HARMLESS = {"arbitrary_types_allowed", "extra", "frozen", "strict", "title", "validate_assignment"}
"""What a model may set of pydantic's configuration without its JSON being another."""

_OWN_FORMS = ("model_dump", "__get_pydantic_core_schema__")
_SCALARS = (bool, int, float, str, NoneType)
_CONTAINERS = (list, tuple, dict, Union, UnionType)


@functools.lru_cache(maxsize=256)
def has_own(kind: type[BaseModel], name: str) -> bool:
    """Whether a model has a method of its own in the place of pydantic's."""
    return inspect.getattr_static(kind, name) is not inspect.getattr_static(BaseModel, name)


@functools.lru_cache(maxsize=256)
def writes_plainly(kind: type[BaseModel], apart: frozenset[str]) -> bool:
    """Whether a model has nothing but numbers, text, and lists and maps of them, and no way of its own to write them.

    Whatever has a form of its own in JSON, such as bytes or what a serialiser returns, may be written in another one
    than after pydantic's dump to Python, which is how openenv writes observations.

    Args:
        kind: The model.
        apart: The fields that are not asked about.
    """
    decorators = kind.__pydantic_decorators__
    return (
        kind.model_config.keys() <= _HARMLESS
        and kind.model_config.get("extra") != "allow"
        and not any(has_own(kind, name) for name in _OWN_FORMS)
        and not (decorators.field_serializers or decorators.model_serializers or decorators.computed_fields)
        and all(_is_plain(field) for name, field in kind.model_fields.items() if name not in apart)
    )


def _is_plain(field: FieldInfo) -> bool:
    return (
        not field.exclude
        and getattr(field, "exclude_if", None) is None
        and all(type(each).__module__ == "annotated_types" for each in field.metadata)
        and _is_plain_type(field.annotation)
    )


def _is_plain_type(annotation: Any) -> bool:
    if annotation in _SCALARS or annotation is Ellipsis:
        return True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return all(type(each) in _SCALARS for each in arguments)
    if origin is dict and arguments[0] is not str:
        return False
    return origin in _CONTAINERS and all(map(_is_plain_type, arguments))
