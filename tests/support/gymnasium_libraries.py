"""Which of Gymnasium's ids need a library besides Gymnasium."""

from __future__ import annotations

from importlib.util import find_spec

import gymnasium
import pytest

_LIBRARIES = {".box2d.": "Box2D", ".mujoco.": "mujoco"}


def library_of(env_id: str) -> str | None:
    """The module that an id needs; None where Gymnasium is enough."""
    source = str(gymnasium.spec(env_id).entry_point)
    return next((library for folder, library in _LIBRARIES.items() if folder in source), None)


def needs_library(env_id: str) -> None:
    """Skips a test of an id whose library is not here."""
    library = library_of(env_id)
    if library is not None and find_spec(library) is None:
        pytest.skip(f"{env_id} needs {library}")
