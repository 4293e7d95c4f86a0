"""Puts the bundled environment projects into standard wheels; an editable install finds them in ``envs/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TARGET = "openenv_gym_registry/projects"
_LEFT_OUT = {"__pycache__", "node_modules"}
_LEFT_OUT_OF_A_PROJECT = _LEFT_OUT | {"build", "dist", "outputs", "tests", "vendor"}
"""What is beside the code in a project's folder; further down, such a name is part of the project."""


class BundledProjects(BuildHookInterface[Any]):
    """Adds ``envs/<name>`` as ``openenv_gym_registry/projects/<name>``, without tests and caches."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Lists the files to add; ``version`` is ``"standard"`` or ``"editable"``."""
        if version != "standard":
            return
        projects = Path(self.root) / "envs"
        manifests = sorted(projects.glob("*/openenv.yaml"))
        if not manifests:
            raise FileNotFoundError(f"no environment project in {projects}: a wheel without them would not work")
        for manifest in manifests:
            for path in _files(manifest.parent, _LEFT_OUT_OF_A_PROJECT):
                target = f"{_TARGET}/{path.relative_to(projects).as_posix()}"
                build_data["force_include"][str(path)] = target


def _files(folder: Path, left_out: set[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in left_out or path.suffix == ".pyc" or (path.is_dir() and path.name.startswith(".")):
            continue
        if path.is_dir():
            yield from _files(path, _LEFT_OUT)
        else:
            yield path
