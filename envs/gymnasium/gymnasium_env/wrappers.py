"""Gymnasium's wrappers that a server may put around what it serves: an allow-list, named with JSON options.

What learns from all that it has seen (``NormalizeObservation``, ``NormalizeReward``) is not on it, because the same
seed and actions would not give the same episode; nor is what counts, records or resets, which is the client's.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import Env
from gymnasium.error import DependencyNotInstalled
from openenv_gym_protocol.errors import ConfigurationError, nearest

from gymnasium_env.libraries import needs

SETTING = "GYMNASIUM_ENV_WRAPPERS"

ALLOWED = (
    *("AddRenderObservation", "AtariPreprocessing", "ClipAction", "ClipReward", "DelayObservation", "DiscretizeAction"),
    *("DiscretizeObservation", "DtypeObservation", "FilterObservation", "FlattenObservation", "FrameStackObservation"),
    *("GrayscaleObservation", "MaxAndSkipObservation", "RepeatAction", "RescaleAction", "RescaleObservation"),
    *("ReshapeObservation", "ResizeObservation", "StickyAction"),
)

DRAWS = "AddRenderObservation"
"""The wrapper whose observations are pictures of the environment."""

_EXAMPLE = '[{"name": "FrameStackObservation", "stack_size": 4}]'

_BOUNDS = {"min_action": "action_space", "max_action": "action_space"} | {
    "min_obs": "observation_space",
    "max_obs": "observation_space",
}
"""The options that may be arrays, with the space that has their dtype."""


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """One wrapper.

    Attributes:
        name: The name of Gymnasium's class.
        options: The arguments of its constructor, in JSON's types.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def around(self, env: Env[Any, Any], place: int) -> Env[Any, Any]:
        """Wraps an environment.

        Args:
            env: The environment.
            place: Where the wrapper stands among all of them, for messages.

        Raises:
            ConfigurationError: It does not fit the environment, or what it needs is not installed.
        """
        where = f"{SETTING}[{place}], {self.name}"
        options = {name: _argument(name, value, env) for name, value in self.options.items()}
        try:
            wrapped: Env[Any, Any] = getattr(gymnasium.wrappers, self.name)(env, **options)
        except DependencyNotInstalled as error:
            raise ConfigurationError(f"{where}: {needs(error)}") from None
        except Exception as error:  # wrappers assert and raise whatever they like
            told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ConfigurationError(f"{where}, does not fit {_name_of(env)} with {self.options}: {told}") from error
        return wrapped


def read_wrappers(rows: Any) -> tuple[Wrapper, ...]:
    """Reads wrappers, the innermost first: each a name, or a name with options.

    Raises:
        ConfigurationError: It is no list of such, a wrapper is not allowed, or an option is unknown or missing.
    """
    if not isinstance(rows, list | tuple):
        raise ConfigurationError(f"{SETTING} is a list of wrappers such as {_EXAMPLE}, not {rows!r:.80}.")
    return tuple(_read(row, f"{SETTING}[{place}]") for place, row in enumerate(rows))


def wrapped(env: Env[Any, Any], wrappers: Iterable[Wrapper]) -> Env[Any, Any]:
    """An environment inside of wrappers; where one does not fit, the environment is closed.

    Raises:
        ConfigurationError: One does not fit.
    """
    try:
        for place, wrapper in enumerate(wrappers):
            env = wrapper.around(env, place)
    except ConfigurationError:
        env.close()
        raise
    return env


def _read(row: Any, where: str) -> Wrapper:
    told = {"name": row} if isinstance(row, str) else row
    if not isinstance(told, Mapping) or not isinstance(told.get("name"), str):
        raise ConfigurationError(f"{where} is a wrapper's name, or an object with name and options, not {row!r:.80}.")
    name, options = told["name"], {key: value for key, value in told.items() if key != "name"}
    if name not in ALLOWED:
        raise ConfigurationError(f"{where}: there is no wrapper {name!r} to choose. {nearest(name, ALLOWED)}")
    found = getattr(gymnasium.wrappers, name, None)
    if found is None:
        raise ConfigurationError(f"{where}: Gymnasium {gymnasium.__version__} has no {name} yet: install a newer one.")
    known = {key: each for key, each in inspect.signature(found).parameters.items() if key != "env"}
    for key in options:
        if key not in known:
            raise ConfigurationError(f"{where}: {name} has no option {key!r}. {nearest(key, known)}")
    lacking = [key for key, each in known.items() if each.default is inspect.Parameter.empty and key not in options]
    if lacking:
        raise ConfigurationError(f"{where}: {name} needs {' and '.join(lacking)}.")
    return Wrapper(name=name, options=options)


def _argument(name: str, value: Any, env: Env[Any, Any]) -> Any:
    """A value of JSON as Gymnasium's constructors take it: bounds as arrays, other lists as tuples."""
    if name in _BOUNDS and isinstance(value, list):
        return np.asarray(value, getattr(env, _BOUNDS[name]).dtype)
    return tuple(value) if isinstance(value, list) else value


def _name_of(env: Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else str(env)
