"""What an environment class says of itself, read once when the app is made."""

from __future__ import annotations

import functools
import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_type_hints

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.models import State
from openenv_gym_protocol.space_data import check_space
from pydantic import BaseModel, TypeAdapter

from openenv_gym_server.environment import Environment, Execution

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 60.0
_BASES = ("openenv_gym_server.environment", "env_server.interfaces")
"""Where the base classes live whose reset_async and step_async only call the plain ones."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What the server needs to know of an environment class."""

    environment_class: type | None
    execution: Execution = "thread"
    concurrent: bool = False
    single_thread: bool = False
    allow_nonfinite_reward: bool = False
    seeded_stream: bool | None = None
    seed_supported: bool | None = None
    spaces: dict[str, Any] | None = None
    info_keys: list[str] | None = None
    remote_names: tuple[str, ...] = ()
    """What clients of the vector wire may call and read."""
    settable_names: tuple[str, ...] = ()
    """What they may set."""
    render_modes: tuple[str, ...] = ()
    render_fps: float | None = None
    has_arrays: bool = False
    """One instance steps many lanes at once, in arrays."""
    reset_parameters: tuple[inspect.Parameter, ...] | None = None
    """The reset's own options, without seed and episode_id; None when it names none but takes any."""
    option_types: dict[str, TypeAdapter[Any]] = field(default_factory=dict)
    """Checks for those options that are typed; only for environments of this kit."""
    state_class: type[BaseModel] = State


def read_traits(factory: Callable[[], Any]) -> Traits:
    """Reads what an environment says of itself.

    A factory that is neither a class nor annotated is called once, in a thread that ends, to learn the class.

    Raises:
        ConfigurationError: The class declares an execution that does not exist, or what describes no space.
    """
    found = _class_of(factory)
    if found is None:
        return Traits(environment_class=None)
    execution = _execution(found)
    reset = find_method(found, "reset", awaiting=execution == "async")
    return Traits(
        environment_class=found,
        execution=execution,
        concurrent=bool(getattr(found, "SUPPORTS_CONCURRENT_SESSIONS", False)),
        single_thread=bool(getattr(found, "REQUIRES_SINGLE_THREAD_EXECUTOR", False)),
        allow_nonfinite_reward=bool(getattr(found, "allow_nonfinite_reward", False)),
        seeded_stream=getattr(found, "seeded_stream", None),
        seed_supported=_seed_supported(found, reset),
        spaces=_spaces(found),
        info_keys=_names(getattr(found, "info_keys", None)),
        remote_names=_remote_names(found),
        settable_names=_settable_names(found),
        render_modes=tuple(getattr(found, "render_modes", ())),
        render_fps=getattr(found, "render_fps", None),
        has_arrays=callable(getattr(found, "step_arrays", None)),
        reset_parameters=_own_options(reset),
        option_types=_option_types(found, reset),
        state_class=_state_class(found),
    )


def overrides(environment_class: type, name: str) -> bool:
    """Whether a class has its own version of an optional method of the base class."""
    owner = _owner(environment_class, name)
    return owner is not None and not owner.__module__.endswith(_BASES)


def stands_for(environment_class: type, quick: str, *plain: str) -> bool:
    """Whether a class has a quick method in the place of plain ones, and did not get another plain one since."""
    owner = _owner(environment_class, quick, *plain)
    return owner is not None and callable(vars(owner).get(quick))


def _owner(environment_class: type, *names: str) -> type | None:
    """The first class that has one of some names of its own."""
    return next((base for base in environment_class.__mro__ if not vars(base).keys().isdisjoint(names)), None)


@dataclass(frozen=True)
class Method:
    """The method of an environment class that serves an operation."""

    operation: str
    name: str
    parameters: tuple[inspect.Parameter, ...]
    """Without self and, for a step, the action."""

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The parameters that can be given by name."""
        fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
        return frozenset(p.name for p in self.parameters if p.kind not in fixed)

    @functools.cached_property
    def takes_any(self) -> bool:
        """It has ``**options``."""
        return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self.parameters)

    def takes(self, key: str) -> bool:
        """Whether a key of a request can be given to it."""
        return key in self.names or (self.takes_any and key not in ("self", "action"))

    def taken(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of some arguments that can be given to it."""
        if options.keys() <= self.names:
            return options
        return {key: value for key, value in options.items() if self.takes(key)}


@functools.cache
def find_method(environment_class: type, operation: str, *, awaiting: bool) -> Method:
    """The method that serves an operation.

    Args:
        environment_class: The class.
        operation: reset or step.
        awaiting: Prefer the ``_async`` form, where the class overrides it.
    """
    name = f"{operation}_async" if awaiting and overrides(environment_class, f"{operation}_async") else operation
    parameters = tuple(inspect.signature(getattr(environment_class, name)).parameters.values())
    return Method(operation, name, parameters[2 if operation == "step" else 1 :])


def _class_of(factory: Callable[[], Any]) -> type | None:
    while isinstance(factory, functools.partial):
        factory = factory.func
    if inspect.isclass(factory):
        return factory
    try:
        returned = get_type_hints(factory).get("return")
    except (NameError, TypeError):
        returned = None  # the annotation names something that cannot be looked up here: ask an instance
    if inspect.isclass(returned) and hasattr(returned, "step") and not inspect.isabstract(returned):
        return returned
    return _probed(factory)


def _probed(factory: Callable[[], Any]) -> type | None:
    found: list[type] = []

    def construct() -> None:
        try:
            environment = factory()
            found.append(type(environment))
            environment.close()
        except Exception:
            logger.exception("The environment factory failed when the app was made; sessions will try it again.")

    thread = threading.Thread(target=construct, name="openenv-gym-probe", daemon=True)
    thread.start()
    thread.join(_PROBE_SECONDS)
    return found[0] if found else None


def _execution(found: type) -> Execution:
    declared = getattr(found, "execution", None)
    if declared is None:
        awaits = any(
            overrides(found, f"{operation}_async") or inspect.iscoroutinefunction(getattr(found, operation))
            for operation in ("reset", "step")
        )
        return "async" if awaits else "thread"
    if declared not in get_args(Execution):
        raise ConfigurationError(
            f"{found.__name__}.execution is {declared!r}; it must be one of {', '.join(get_args(Execution))}."
        )
    execution: Execution = declared
    return execution


def _seed_supported(found: type, reset: Method) -> bool | None:
    declared: bool | None = getattr(found, "seed_supported", None)
    if declared is not None:
        return declared
    if getattr(found, "seeded_stream", None):
        return True
    # Taking a seed is not yet using it.
    return None if reset.takes("seed") else False


def _own_options(reset: Method) -> tuple[inspect.Parameter, ...] | None:
    named = tuple(p for p in reset.parameters if p.name in reset.names - {"seed", "episode_id"})
    return None if reset.takes_any and not named else named


def _option_types(found: type, reset: Method) -> dict[str, TypeAdapter[Any]]:
    if not issubclass(found, Environment):
        return {}
    try:
        hints = get_type_hints(getattr(found, reset.name), include_extras=True)
    except (NameError, TypeError):
        return {}  # an annotation that cannot be looked up checks nothing
    names = [p.name for p in _own_options(reset) or ()]
    return {name: adapter for name in names if name in hints and (adapter := option_adapter(hints[name]))}


def option_adapter(annotation: Any) -> TypeAdapter[Any] | None:
    """What checks values of an annotation, or None where pydantic cannot."""
    try:
        return TypeAdapter(annotation)
    except Exception:  # pydantic raises many kinds for annotations that it does not understand
        return None


def _state_class(found: type) -> type[BaseModel]:
    for base in found.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            last = (get_args(generic) or (None,))[-1]
            if len(get_args(generic)) == 3 and inspect.isclass(last) and issubclass(last, BaseModel):
                return last
    getter = getattr(getattr(found, "state", None), "fget", None)
    try:
        returned = get_type_hints(getter).get("return") if getter else None
    except (NameError, TypeError):
        returned = None  # the annotation cannot be looked up: the base state describes what is certain
    return returned if inspect.isclass(returned) and issubclass(returned, BaseModel) else State


def _remote_names(found: type) -> tuple[str, ...]:
    # A name of Python's own leads from an environment to everything else in the process.
    return tuple(name for name in getattr(found, "remote_names", ()) if not name.startswith("_"))


def _settable_names(found: type) -> tuple[str, ...]:
    names = _remote_names(found)
    declared = getattr(found, "settable_names", None)
    return names if declared is None else tuple(name for name in names if name in declared)


def _spaces(found: type) -> dict[str, Any] | None:
    declared = getattr(found, "spaces", None)
    sides = ("action", "observation")
    if not isinstance(declared, dict) or (not issubclass(found, Environment) and not declared.keys() >= set(sides)):
        return None  # an environment written for openenv may mean anything by that name
    for side in sides:
        if side not in declared:
            raise ConfigurationError(f"{found.__name__}.spaces has to have the keys {' and '.join(sides)}.")
        check_space(declared[side], f"{found.__name__}.spaces[{side!r}]")
    return declared


def _names(value: Any) -> list[str] | None:
    return None if value is None else [str(name) for name in value]
