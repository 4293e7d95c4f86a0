"""How the served environment is built, and which of its constructor's keywords clients may set."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
from gymnasium import Env, Space
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.error import DependencyNotInstalled
from openenv_gym_protocol.errors import ConfigurationError, nearest

from gymnasium_env.known import Family, family_of
from gymnasium_env.libraries import choose_graphics, load_quietly, needs
from gymnasium_env.quick_spaces import with_quick_check
from gymnasium_env.settings import Settings
from gymnasium_env.wrappers import DRAWS, wrapped

# What CarRacing says besides goes to the server's standard output.
_OTHERS = {"self", "render_mode", "verbose"}

_DISTRIBUTIONS = {"ale_py": "ale-py"}
"""What brings a module that this project knows."""


@dataclass(frozen=True)
class Keyword:
    """A keyword that clients may set.

    Attributes:
        default: What holds where a client says nothing.
        annotation: The type that values must have.
    """

    default: Any
    annotation: Any


class Recipe:
    """Builds one Gymnasium id.

    Attributes:
        spec: Its registration.
        family: What is known of its class, or None.
        keywords: What clients may set at a reset, by name.
        action_space: The space of one action; the same for all that is built.
        observation_space: The space of one observation.
        render_modes: What ``render`` can give.
        render_fps: Pictures a second.

    Raises:
        ConfigurationError: The id is not registered, or the settings do not fit it.
    """

    def __init__(self, settings: Settings) -> None:
        for module in settings.modules:
            _import(module, settings.env_id)
        if settings.env_id not in gymnasium.registry:
            raise ConfigurationError(f"{settings.env_id!r} is not registered. {_similar(settings.env_id)}")
        self.spec: EnvSpec = gymnasium.registry[settings.env_id]
        self.family = family_of(self.spec)
        self._settings = settings
        self._draws = any(wrapper.name == DRAWS for wrapper in settings.wrappers)
        if self._draws:
            choose_graphics()
        load_quietly(self.spec.entry_point)
        with _told(settings):
            keywords = _keywords_of(self.spec, settings.env_kwargs)
            for name in (self.family or Family()).server_keywords:
                keywords.pop(name, None)
            self.keywords = _allowed(keywords, settings)
            env = self._make({})
        try:
            self.action_space: Space[Any] = env.action_space
            self.observation_space: Space[Any] = env.observation_space
            modes = set(env.metadata.get("render_modes") or ())
            self.render_modes = tuple(mode for mode in ("rgb_array", "ansi") if mode in modes)
            self.render_fps = int(env.metadata.get("render_fps") or 30)
        finally:
            env.close()

    @property
    def is_short(self) -> bool:
        """Whether a step takes microseconds: of an unknown environment it may take any time, as pictures do."""
        return self.family is not None and self.family.is_short and not self._draws

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """What an environment is built with where a client says nothing."""
        return {name: keyword.default for name, keyword in self.keywords.items()}

    def build(self, keywords: Mapping[str, Any]) -> Env[Any, Any]:
        """Builds an environment.

        Args:
            keywords: Values of ``keywords``.

        Raises:
            ValueError: It would have other spaces than those that the server has told its clients.
        """
        env = self._make(keywords)
        if env.action_space == self.action_space and env.observation_space == self.observation_space:
            return with_quick_check(env)
        env.close()
        raise ValueError(
            f"{self.spec.id} has other spaces with {dict(keywords)}. What changes the spaces belongs into the server's "
            "settings: GYMNASIUM_ENV_KWARGS, or env_kwargs= of gymnasium.make."
        )

    def _make(self, keywords: Mapping[str, Any]) -> Env[Any, Any]:
        # None is the id's own time limit, -1 is none.
        limit = None if self._settings.own_time_limit else -1
        kwargs = {**self._settings.env_kwargs, **keywords}
        if self._draws:
            kwargs["render_mode"] = "rgb_array"
        env = gymnasium.make(self.spec, max_episode_steps=limit, disable_env_checker=True, **kwargs)
        return wrapped(env, self._settings.wrappers)


def _import(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        distribution = _DISTRIBUTIONS.get(module)
        install = f"pip install {distribution}" if distribution else "install what has it there"
        raise ConfigurationError(
            f"{env_id} needs the module {error.name!r}, which {sys.executable} does not have: {install}, or name an "
            "interpreter that has it."
        ) from None


@contextmanager
def _told(settings: Settings) -> Iterator[None]:
    """Says of an environment that cannot be built which settings are at fault."""
    try:
        yield
    except ConfigurationError:
        raise
    except DependencyNotInstalled as error:
        raise ConfigurationError(f"{settings.env_id} cannot be served: {needs(error)}") from None
    except Exception as error:  # environments raise whatever they like
        kwargs = f" with {settings.env_kwargs}" if settings.env_kwargs else ""
        raise ConfigurationError(
            f"{settings.env_id} cannot be made{kwargs}: {type(error).__name__}: {error}"
        ) from error


def _similar(env_id: str) -> str:
    # Without the versions, which make every two ids alike.
    named: dict[str, str] = {}
    for known in gymnasium.registry:
        named[known.rpartition("-v")[0] or known] = known  # the newest is registered last
    alike = difflib.get_close_matches(env_id.rpartition("-v")[0] or env_id, named, 3, cutoff=0.7)
    near = [named[name] for name in alike]
    hint = f"Near it: {', '.join(near)}. " if near else ""
    return f"{hint}Modules that register more ids are named in modules= of gymnasium.make (GYMNASIUM_ENV_MODULES)."


def _keywords_of(spec: EnvSpec, fixed: Mapping[str, Any]) -> dict[str, Keyword]:
    """The constructor's keywords that are numbers or flags, or fixed rows of them.

    Text and objects are left out: they name files and maps, and change spaces.

    Raises:
        ConfigurationError: The constructor has none of the name of a fixed one.
    """
    try:
        entry_point = spec.entry_point
        creator = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
        parameters = inspect.signature(creator).parameters if creator is not None else {}
    except ValueError:
        return {}  # a creator in C tells nothing
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in fixed:
        if name not in parameters and not takes_any:
            raise ConfigurationError(f"{spec.id} has no keyword {name!r}. {nearest(name, parameters.keys() - _OTHERS)}")
    found = {}
    for name, parameter in parameters.items():
        default = fixed.get(name, spec.kwargs.get(name, parameter.default))
        annotation = _annotation(default, parameter.annotation)
        if name not in _OTHERS and name not in fixed and annotation is not None:
            found[name] = Keyword(default, annotation)
    return found


def _annotation(default: Any, declared: Any) -> Any:
    """The type that goes with a default, or None where it is no number, flag or row of them."""
    if isinstance(default, bool):
        return bool
    if isinstance(default, int) and declared in (int, "int"):
        return int
    if isinstance(default, int | float):
        return int | float
    if isinstance(default, tuple) and default and all(isinstance(item, int | float) for item in default):
        return tuple[tuple([int | float] * len(default))]  # type: ignore[misc]  # a tuple of that length
    return None


def _allowed(keywords: dict[str, Keyword], settings: Settings) -> dict[str, Keyword]:
    if settings.options is None:
        return keywords
    for name in settings.options:
        if name not in keywords:
            raise ConfigurationError(
                f"GYMNASIUM_ENV_OPTIONS names {name!r}, which clients of {settings.env_id} cannot set. "
                f"{nearest(name, keywords)}"
            )
    return {name: keywords[name] for name in settings.options}
