"""Environment projects that were installed as packages of their own."""

from __future__ import annotations

import importlib.util
import logging
from importlib.metadata import entry_points
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_registry.catalogue import catalogue
from openenv_gym_registry.registration import register_local

logger = logging.getLogger(__name__)

GROUP = "openenv_gym.environments"
"""The group of entry points: a project's name, and the package that holds it."""


def register_installed() -> list[str]:
    """Registers the environments of all installed packages that declare some.

    Nothing of those packages is imported: their code runs in a server of its own. A bundled environment is not
    replaced by an installed one of the same name or id. A package whose project is broken is logged and passed over.

    Returns:
        The ids that are registered now.
    """
    ids = []
    for entry_point in sorted(entry_points(group=GROUP), key=lambda found: found.name):
        if entry_point.name in catalogue():
            logger.info("%s is bundled; the installed %s is not used", entry_point.name, entry_point.value)
            continue
        try:
            ids.append(register_local(installed_project(entry_point.module.partition(".")[0])))
        except ConfigurationError as error:
            logger.warning("the installed environment %s is passed over: %s", entry_point.name, error)
    return ids


def installed_project(package: str) -> Path:
    """The project's folder of an installed package, without importing it.

    Args:
        package: The top-level package that the entry point names.

    Raises:
        ConfigurationError: There is no such package, or no project in it.
    """
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None  # a half-removed package, or one that is not a file
    locations = list(spec.submodule_search_locations or ()) if spec else []
    for location in map(Path, locations):
        # In a wheel of ours; in a package laid out as openenv's own are; in an editable install.
        for folder in (location / "project", location, location.parent):
            if (folder / "openenv.yaml").is_file():
                return folder
    raise ConfigurationError(f"The package {package!r} holds no environment project: no openenv.yaml is beside it.")
