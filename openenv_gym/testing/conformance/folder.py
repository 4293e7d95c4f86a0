"""Checks of a project's folder. None of its code is run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_registry.manifest import Manifest, read_manifest
from openenv_gym_registry.space_card import front_matter, is_tagged

from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.declaration import Declaration


@dataclass
class ProjectFolder:
    """A project under check.

    Args:
        folder: Where it lies.
    """

    folder: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What ``openenv.yaml`` says.

        Raises:
            NotApplicable: It cannot be read, which is a finding of ``manifest``.
        """
        try:
            return read_manifest(self.folder)
        except ConfigurationError as error:
            raise NotApplicable("openenv.yaml cannot be read") from error

    @property
    def declared(self) -> Declaration:
        """What it promises of its server."""
        spaces = self.manifest.gymnasium.spaces
        tools = self.said("capabilities", "declared_tools")
        return Declaration(
            reward_range=_range(self.said("reward", "range")),
            tools=tuple(map(str, tools)) if isinstance(tools, list) else None,
            spaces=None if spaces is None else spaces.model_dump(),
        )

    def said(self, block: str, key: str) -> Any:
        """What ``validation`` of the manifest has in one of its blocks; None where it has nothing."""
        found = (self.manifest.validation or {}).get(block)
        return found.get(key) if isinstance(found, dict) else None

    def has(self, *names: str) -> bool:
        """Whether one of the files is there."""
        return any((self.folder / name).is_file() for name in names)


@check("manifest", static=True)
def manifest(project: ProjectFolder) -> str:
    """``openenv.yaml`` can be read, and says nothing wrong."""
    try:
        found = read_manifest(project.folder)
    except ConfigurationError as error:
        raise Problem(error.message) from error
    return f"{found.name} {found.version or ''}".strip()


@check("manifest", static=True)
def manifest_spaces(project: ProjectFolder) -> None:
    """The spaces that ``openenv.yaml`` states are spaces."""
    blocks = [project.manifest.gymnasium, *project.manifest.gymnasium.variants.values()]
    stated = [block.spaces for block in blocks if block.spaces is not None]
    if not stated:
        raise NotApplicable("none are stated")
    for spaces in stated:
        for data in (spaces.action, spaces.observation):
            data_to_space(data)


@check("manifest", static=True)
def manifest_reward_range(project: ProjectFolder) -> None:
    """``validation.reward.range`` of ``openenv.yaml`` is two numbers, the smaller one first."""
    told = project.said("reward", "range")
    if told is None:
        raise NotApplicable("none is stated")
    found = _range(told)
    require(found is not None and found[0] <= found[1], f"validation.reward.range is {told!r:.80}.")


@check("style", "advisory", static=True)
def manifest_complete(project: ProjectFolder) -> None:
    """``openenv.yaml`` has a version and a description."""
    lacking = [key for key in ("version", "description") if not getattr(project.manifest, key)]
    require(not lacking, f"openenv.yaml has no {' and no '.join(lacking)}.", "People look for projects by them.")


@check("files", static=True)
def application_file(project: ProjectFolder) -> str:
    """The module of the application is there."""
    name = "/".join(project.manifest.app.partition(":")[0].split("."))
    require(project.has(f"{name}.py", f"{name}/__init__.py"), f"openenv.yaml names {name}.py, which is not there.")
    return f"{name}.py"


@check("files", static=True)
def dockerfile(project: ProjectFolder) -> None:
    """There is a Dockerfile, in ``server/`` or beside ``openenv.yaml``."""
    require(project.has("server/Dockerfile", "Dockerfile"), "There is no server/Dockerfile.", "An image needs one.")


@check("files", static=True)
def pyproject(project: ProjectFolder) -> str:
    """``pyproject.toml`` can be read, and names the distribution."""
    try:
        data: dict[str, Any] = tomllib.loads((project.folder / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Problem("There is no pyproject.toml.", "It names the project's dependencies.") from error
    except (OSError, ValueError) as error:
        raise Problem(f"pyproject.toml cannot be read: {error}") from error
    name = data.get("project", {}).get("name")
    require(isinstance(name, str), "pyproject.toml has no project.name.")
    return str(name)


@check("files", static=True)
def readme(project: ProjectFolder) -> None:
    """There is a README.md."""
    require(project.has("README.md"), "There is no README.md.", "A Space shows it, and reads its settings there.")


@check("style", "advisory", static=True)
def space_settings(project: ProjectFolder) -> None:
    """README.md begins with the settings of a Space: a Docker one, tagged ``openenv``."""
    if not project.has("README.md"):
        raise NotApplicable("there is no README.md")
    text = (project.folder / "README.md").read_text(encoding="utf-8", errors="replace")
    try:
        settings = front_matter(text)
    except ConfigurationError as error:
        raise Problem(error.message, _SPACE) from error
    require(settings.get("sdk") == "docker", "README.md does not say `sdk: docker` at its beginning.", _SPACE)
    require(is_tagged(settings), "README.md does not have the tag `openenv`.", _SPACE)


_SPACE = "`openenv init` shows how a README of a Space begins."


@check("style", "advisory", static=True)
def client_package(project: ProjectFolder) -> None:
    """A package with a client is there."""
    folders = [project.folder, *(path.parent for path in project.folder.glob("*/__init__.py"))]
    has_client = any((folder / "client.py").is_file() for folder in folders)
    require(has_client, "There is no client.py in the project or in its package.", "openenv's tools look for one.")


def _range(told: Any) -> tuple[float, float] | None:
    is_range = isinstance(told, list) and len(told) == 2 and all(isinstance(each, int | float) for each in told)
    return (float(told[0]), float(told[1])) if is_range else None
