"""The one way by which a command reads the project that it is about."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openenv_gym_protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from openenv_gym_registry.manifest import Manifest

MANIFEST_NAME = "openenv.yaml"

_LOOKED_AT = 2_000
"""How many folders are looked at for the project that may be meant."""

_DEEPEST = 3
_LINE = re.compile(r", line (\d+)")
_FOLDER = "path:"


@dataclass(frozen=True)
class Project:
    """An environment project.

    Attributes:
        folder: Where it lies, absolute.
        manifest: Its ``openenv.yaml``.
    """

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.manifest.name


def folder_named(text: str) -> str | None:
    """The folder that a text names; None where it names something else: an id, a Space, an image.

    Args:
        text: As ``parse_source`` reads it; of a folder that is there, the name alone will do.
    """
    if text.startswith((".", "~", "/", _FOLDER)) or os.path.isdir(text):  # noqa: PTH112  (never raises)
        return text.removeprefix(_FOLDER)
    return None


def read_project(path: str | Path = ".") -> Project:
    """Reads the project in a folder.

    Args:
        path: The folder; ``~`` is expanded.

    Raises:
        ConfigurationError: There is no such folder, no project in it (the nearest one is named), no application, or
            its manifest is wrong (the line is shown).
    """
    folder = project_folder(path)
    from openenv_gym_registry.manifest import read_manifest

    try:
        read = read_manifest(folder)
    except ConfigurationError as error:
        shown = shown_line(error.message, folder / MANIFEST_NAME)
        raise ConfigurationError(f"{error.message}{shown}") from error
    _check_application(folder, read.app)
    return Project(folder, read)


def project_folder(path: str | Path = ".") -> Path:
    """The folder of a project, whatever its manifest says.

    Args:
        path: The folder; ``~`` is expanded.

    Raises:
        ConfigurationError: There is no such folder, or no project in it (the nearest one is named).
    """
    folder = _folder(path)
    try:
        is_there = (folder / MANIFEST_NAME).is_file()
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be looked into: {error.strerror}. Check its permissions.") from error
    if not is_there:
        raise ConfigurationError(f"{folder} is no environment project: it has no {MANIFEST_NAME}. {_hint(folder)}")
    return folder


def _folder(path: str | Path) -> Path:
    try:
        folder = Path(path).expanduser().resolve()
        if folder.is_dir():
            return folder
        is_file = folder.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise ConfigurationError(f"{str(path)!r} cannot be a project's folder: {why}.") from error
    if is_file:
        raise ConfigurationError(f"{path} is a file. Name the project's folder: {folder.parent}.")
    raise ConfigurationError(f"There is no folder {folder}.{_meant(folder)}")


def _meant(folder: Path) -> str:
    try:
        beside = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    except OSError:
        return ""  # what is around it is missing too, or is closed to this user
    nearest = difflib.get_close_matches(folder.name, beside, n=1)
    return f" Did you mean {folder.parent / nearest[0]}?" if nearest else ""


def _hint(folder: Path) -> str:
    above = next((parent for parent in folder.parents if _has_manifest(parent)), None)
    if above is not None:
        return f"{MANIFEST_NAME} is in {above}."
    below = next(_projects_below(folder), None)
    if below is not None:
        return f"{MANIFEST_NAME} is in ./{below.relative_to(folder)}."
    return "`openenv init NAME` makes a project."


def _projects_below(folder: Path) -> Iterator[Path]:
    """The projects below a folder, the nearest first, as far as that is quick to find out."""
    level, looked_at = [folder], 0
    for _ in range(_DEEPEST):
        inner = []
        for each in level:
            try:
                inner += sorted(path for path in each.iterdir() if path.is_dir() and not path.name.startswith("."))
            except OSError:
                continue  # closed to this user
            looked_at += len(inner)
            if looked_at > _LOOKED_AT:
                break
        yield from filter(_has_manifest, inner)
        level = inner


def _has_manifest(folder: Path) -> bool:
    return os.path.isfile(folder / MANIFEST_NAME)  # noqa: PTH113  (of a folder that is closed to this user, it is none)


def shown_line(message: str, manifest: Path) -> str:
    """The line that a message is about, as it stands in the file."""
    found = _LINE.search(message)
    if found is None:
        return ""
    try:
        lines = manifest.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    number = int(found[1])
    return f"\n  {number} | {lines[number - 1]}" if 0 < number <= len(lines) else ""


def _check_application(folder: Path, application: str) -> None:
    module = folder.joinpath(*application.partition(":")[0].split("."))
    if not module.with_suffix(".py").is_file() and not (module / "__init__.py").is_file():
        shown = module.with_suffix(".py").relative_to(folder)
        raise ConfigurationError(
            f"{folder} is no environment project: {MANIFEST_NAME} names the application {application}, and there is "
            f"no {shown}."
        )
