"""What Gymnasium's environments, wrappers and pictures need besides Gymnasium, and what brings it."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module

GRAPHICS_LINE = "apt-get install libegl1 libgl1-mesa-dri libopengl0"
"""What brings EGL, OpenGL and Mesa's software for machines without a graphics card, on Debian."""

_LINES = {
    # Gymnasium's own extra builds Box2D, which needs swig and a compiler; this distribution has wheels.
    "box2d": '"openenv-gym-gymnasium[box2d]", or Box2D pygame',
    "mujoco": '"openenv-gym-gymnasium[mujoco]", or "gymnasium[mujoco]"',
    "cv2": '"openenv-gym-gymnasium[wrappers]", or opencv-python-headless',
    "opencv": '"openenv-gym-gymnasium[wrappers]", or opencv-python-headless',
    "pygame": '"openenv-gym-gymnasium[render]", or "gymnasium[classic-control,toy-text]"',
}
"""What pip installs for a library that Gymnasium's errors name."""


def needs(error: Exception) -> str:
    """Says what is missing and what installs it.

    Args:
        error: Gymnasium's error, which names the library.
    """
    text = str(error)
    line = next((line for library, line in _LINES.items() if library in text.lower()), None)
    first = text.partition(",")[0].partition(". (")[0].rstrip(".")
    return text if line is None else f"{first} where {sys.executable} runs: pip install {line}."


def load_quietly(entry_point: object) -> None:
    """Loads the library of an id's entry point, whose warnings about itself are nobody's here.

    Box2D's are raised where Python cannot take them back: with warnings as errors, its import would end the process.
    """
    library = "Box2D" if ".box2d." in str(entry_point) else "mujoco" if ".mujoco." in str(entry_point) else None
    if library is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            found = import_module(library)
        except ImportError:
            return  # the environment tells it in its own words
    if library == "mujoco":
        # Else it writes a file of warnings into the working directory.
        found.set_mju_user_warning(_ignore)


def choose_graphics() -> None:
    """Settles what MuJoCo and pygame draw with where there is no screen, unless the environment variables say it.

    MuJoCo reads it when it draws first. Named any earlier, its import would fail where there is no EGL.
    """
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    if sys.platform == "linux":
        os.environ.setdefault("MUJOCO_GL", "egl")


def draws_with_mujoco(env: object) -> bool:
    """Whether an environment's pictures are MuJoCo's."""
    return hasattr(env, "mujoco_renderer")


def _ignore(text: str) -> None:
    """Its models' own warnings; what goes wrong in a simulation shows in the observations."""
