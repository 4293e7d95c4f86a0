"""Where the bundled environment projects are."""

from __future__ import annotations

from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parent


def projects_root() -> Path:
    """The folder that holds one folder a bundled project.

    Returns:
        ``openenv_gym_registry/projects`` where a wheel was installed, ``envs`` in a checkout.

    Raises:
        ConfigurationError: Neither is there.
    """
    for root in (_PACKAGE / "projects", _PACKAGE.parents[1] / "envs"):
        if root.is_dir():
            return root
    raise ConfigurationError(
        f"The bundled environments are missing beside {_PACKAGE}. Install openenv-gym from a wheel, or from a "
        "checkout with `pip install -e .`."
    )


def bundled_project(name: str) -> Path:
    """The folder of one bundled project.

    Raises:
        ConfigurationError: It is not there.
    """
    folder = projects_root() / name
    if not folder.is_dir():
        raise ConfigurationError(f"The bundled environment {name!r} is missing: there is no folder {folder}.")
    return folder
