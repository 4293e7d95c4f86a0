"""What a trainer cannot work with, refused before anything starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from openenv_gym_protocol.errors import ConfigurationError

_REMEDY = (
    "Make the environment with spaces='flat', which leaves out text and nesting, or bring the space into that form "
    "by a wrapper."
)


def check_vector_env(trainer: str, env: Any, mode: AutoresetMode) -> None:
    """Refuses what is no vector environment, or resets its lanes at another time than a trainer expects.

    Raises:
        ConfigurationError: It is one of these.
    """
    if not isinstance(env, VectorEnv):
        raise ConfigurationError(
            f"{trainer}'s adapter takes a gymnasium.vector.VectorEnv, as gymnasium.make_vec makes, not {env!r:.80}."
        )
    found = env.metadata.get("autoreset_mode")
    if found not in (mode, mode.value):
        said = "does not say its own" if found is None else f"has {AutoresetMode(found).value!r}"
        raise ConfigurationError(
            f"{trainer}'s adapter needs the autoreset mode {mode.value!r}, and the environment {said}: make it with "
            f"gymnasium.make_vec(..., autoreset_mode={mode.value!r})."
        )


def check_numeric_spaces(trainer: str, observation_space: Space[Any], action_space: Space[Any]) -> None:
    """Refuses spaces that Stable-Baselines3 and its like have no network or no distribution for.

    Args:
        trainer: The trainer's name, for the error.
        observation_space: Of one lane: a Box of a dimension or more, Discrete or MultiDiscrete from 0, MultiBinary, or
            a Dict of these.
        action_space: Of one lane: the same without Dict, and a Box of floats.

    Raises:
        ConfigurationError: It names the space, says what is taken, and how to get there.
    """
    for name, space in _leaves("observation_space", observation_space):
        if not _is_array(space):
            raise ConfigurationError(
                f"{trainer} does not take {name}={space!r:.100}: observations are a Box with a dimension or more, "
                f"Discrete or MultiDiscrete from 0, MultiBinary, or a Dict of these. {_REMEDY}"
            )
    is_counted_box = isinstance(action_space, spaces.Box) and action_space.dtype.kind != "f"
    if not _is_array(action_space) or is_counted_box:
        raise ConfigurationError(
            f"{trainer} does not take action_space={action_space!r:.100}: actions are a Box of floats, Discrete or "
            f"MultiDiscrete from 0, or MultiBinary. {_REMEDY}"
        )


def _leaves(name: str, space: Space[Any]) -> Iterator[tuple[str, Space[Any]]]:
    if isinstance(space, spaces.Dict):
        for key, each in space.spaces.items():
            yield f"{name}[{key!r}]", each
    else:
        yield name, space


def _is_array(space: Space[Any]) -> bool:
    if isinstance(space, spaces.Box):
        return len(space.shape) > 0
    if isinstance(space, spaces.MultiDiscrete):
        return space.nvec.ndim == 1 and not np.any(getattr(space, "start", 0))
    return isinstance(space, spaces.MultiBinary) or (isinstance(space, spaces.Discrete) and space.start == 0)
