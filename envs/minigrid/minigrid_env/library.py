"""The only module that imports minigrid."""

from __future__ import annotations

import difflib
import os
import sys
from importlib import import_module
from typing import Any

import gymnasium
from openenv_gym_protocol.errors import ConfigurationError

# Read when pygame is imported, which minigrid draws with: no greeting among the log's lines, and no screen.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def build(env_id: str) -> Any:
    """Makes minigrid's environment of an id, without Gymnasium's wrappers.

    Raises:
        ConfigurationError: minigrid is not installed, has no such id, or cannot make it.
    """
    try:
        minigrid = import_module("minigrid")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{env_id} needs the module {error.name!r}, which {sys.executable} does not have: pip install minigrid, or "
            "name an interpreter that has it."
        ) from None
    known = [name for name in gymnasium.registry if name.startswith(("MiniGrid-", "BabyAI-"))]
    if env_id not in known:
        near = ", ".join(difflib.get_close_matches(env_id, known, 3, cutoff=0.5)) or "none"
        raise ConfigurationError(f"minigrid {minigrid.__version__} has no {env_id!r}. Near it: {near}.")
    try:
        return gymnasium.make(env_id, disable_env_checker=True).unwrapped
    except Exception as error:  # whatever a package that is missing, or the grid's own code, raises
        raise ConfigurationError(f"{env_id} cannot be made: {type(error).__name__}: {error}") from error
