"""Classes with one function for each tool, made of the tools' schemas.

Some trainers learn what a model may call by looking at a class: each public function is a tool, its annotations and
its docstring say how it is called. Such a class is made here for tools that only a server knows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, TypeAlias

from openenv_gym_protocol.root_field import ACTION_KEYS
from openenv_gym_protocol.tools import Tool

from openenv_gym.rollouts.annotations import annotation_of, described, mapping_of, required_of
from openenv_gym.rollouts.docstrings import read_description, write_docstring
from openenv_gym.rollouts.tool_names import argument_name, function_name

Call: TypeAlias = Callable[[Any, str, dict[str, Any]], Any]
"""Calls a tool: takes the instance, the tool's own name and its arguments by their own names."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a function is made of it.

    Attributes:
        name: Its own name.
        description: What it does; its function's whole docstring, perhaps.
        schema: The JSON Schema of its arguments.
        returns: What it returns, in words.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    returns: str = "What the environment answers, as text."

    @classmethod
    def of(cls, tool: Tool) -> ToolSpec:
        """The spec of a tool that a server lists."""
        return cls(tool.name, tool.description, tool.input_schema)


def action_tool(schema: Mapping[str, Any], name: str = "step", description: str = "") -> ToolSpec:
    """The one tool of an environment that has actions: to act.

    Args:
        schema: The action's JSON Schema.
        name: The tool's name.
        description: What it does; by default what the schema says of itself.
    """
    properties = {key: told for key, told in mapping_of(schema.get("properties")).items() if key not in ACTION_KEYS}
    required = [key for key in required_of(schema) if key in properties]
    told = description or str(schema.get("description") or "Acts in the environment.")
    return ToolSpec(name, told, {**schema, "properties": properties, "required": required})


def tool_class(
    tools: Iterable[ToolSpec], call: Call, *, name: str = "ToolEnvironment", base: type = object, doc: str | None = None
) -> type[Any]:
    """Makes a class with a public function for each tool.

    Args:
        tools: The tools.
        call: Does the calls.
        name: The class's name.
        base: The class that it derives from; names of its are not given to tools.
        doc: The class's docstring.

    Returns:
        The class. Its ``_tool_names`` tells the tool of each function.
    """
    taken = set(dir(base))
    functions: dict[str, Any] = {}
    names: dict[str, str] = {}
    for spec in tools:
        chosen = function_name(spec.name, taken)
        taken.add(chosen)
        names[chosen] = spec.name
        functions[chosen] = tool_function(spec, chosen, call, owner=name)
    return type(name, (base,), {**functions, "_tool_names": names, "__doc__": doc or f"The tools {', '.join(names)}."})


def tool_function(spec: ToolSpec, name: str, call: Call, *, owner: str = "") -> Callable[..., Any]:
    """A function with the annotations, the defaults and the docstring that a tool's schema tells.

    Args:
        spec: The tool.
        name: The function's name.
        call: Does the calls.
        owner: The class that it is to belong to.
    """
    arguments = _arguments(spec)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *(each.parameter for each in arguments)], return_annotation=str)

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        instance = given.pop("self")
        sent = {each.key: given[each.name] for each in arguments if each.is_given(given)}
        return call(instance, spec.name, sent)

    text = read_description(spec.description)
    told = {each.name: each.description or text.arguments.get(each.key) or each.key for each in arguments}
    function.__name__, function.__qualname__ = name, f"{owner}.{name}" if owner else name
    function.__doc__ = write_docstring(text.summary or f"Calls {spec.name}.", told, spec.returns)
    function.__annotations__ = {**{each.name: each.parameter.annotation for each in arguments}, "return": str}
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class _Argument:
    key: str
    description: str
    parameter: inspect.Parameter
    takes_null: bool

    @property
    def name(self) -> str:
        return self.parameter.name

    def is_given(self, given: Mapping[str, Any]) -> bool:
        """Whether the caller gave it: None stands for nothing where the tool does not take it."""
        if self.name not in given:
            return False
        is_optional = self.parameter.default is not inspect.Parameter.empty
        return not (given[self.name] is None and is_optional and not self.takes_null)


def _arguments(spec: ToolSpec) -> list[_Argument]:
    """The arguments in the order that Python wants: those without a default first."""
    properties = mapping_of(spec.schema.get("properties"))
    definitions = mapping_of(spec.schema.get("$defs")) or mapping_of(spec.schema.get("definitions"))
    required = [key for key in required_of(spec.schema) if key in properties]
    taken: set[str] = set()
    found = []
    for key in [*required, *(key for key in properties if key not in required)]:
        name = argument_name(key, taken)
        taken.add(name)
        found.append(_argument(key, name, properties[key], definitions, is_required=key in required))
    return found


def _argument(key: str, name: str, schema: Any, definitions: Mapping[str, Any], *, is_required: bool) -> _Argument:
    annotation = annotation_of(schema, definitions)
    takes_null = type(None) in getattr(annotation, "__args__", ()) or annotation is type(None)
    default: Any = inspect.Parameter.empty
    if not is_required:
        default = schema.get("default") if isinstance(schema, Mapping) else None
        if default is None and not takes_null and annotation is not Any:
            annotation = Optional[annotation]  # noqa: UP045  (of a value)
    parameter = inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
    return _Argument(key, described(schema, definitions), parameter, takes_null)
