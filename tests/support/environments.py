"""The bundled projects that need a library which these tests do not have, and interpreters that have it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import Discrete

from openenv_gym.bridge.interface import Interface
from tests.support.venvs import REPOSITORY, own_requirements, virtual_environment

BUNDLED = REPOSITORY / "envs"

EXTRAS: dict[str, tuple[str, ...]] = {
    "atari": (),
    "dm_control": (),
    "gymnasium": ("box2d", "mujoco", "render"),
    "minigrid": (),
    "openspiel": (),
    "reasoning_gym": (),
    "textarena": (),
}
"""Their names, and the extras of each that bring what its ids need."""

_TEST_REQUIREMENTS = ("pytest>=8.3", "pytest-timeout>=2.3")


def python_of(name: str) -> Path:
    """The interpreter that has what a project needs, and the project and this checkout as they are.

    Raises:
        VenvUnavailable: It is not there and could not be made.
    """
    requirements = [*requirements_of(name), *own_requirements("server"), *_TEST_REQUIREMENTS]
    return virtual_environment(f"environment-{name}", requirements, with_ours=True)


def requirements_of(name: str) -> list[str]:
    """What a project requires, with the extras of ``EXTRAS``, but for openenv-gym itself."""
    project = tomllib.loads((BUNDLED / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project.get("optional-dependencies", {})
    listed = [*project["dependencies"], *(each for extra in EXTRAS[name] for each in optional[extra])]
    return [each for each in listed if not each.startswith("openenv-gym")]


def actions_of(space: Space[Any], seed: int) -> Callable[[Mapping[str, Any]], Any]:
    """Draws actions of a space, of those that an info's ``action_mask`` allows where it has one."""
    space.seed(seed)

    def draw(info: Mapping[str, Any]) -> Any:
        mask = info.get("action_mask")
        if mask is None or not isinstance(space, Discrete):
            return space.sample()
        return space.sample(np.asarray(mask, np.int8))

    return draw


def as_payload(env: Env[Any, Any], action: Any) -> dict[str, Any]:
    """An action as a client sends it that knows no spaces."""
    schema = env.unwrapped.schema  # type: ignore[attr-defined]
    encoded: dict[str, Any] = Interface(schema).encode_action(action)
    return encoded
