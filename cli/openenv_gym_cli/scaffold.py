"""Makes a project's folder after a template: whole, or not at all."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

_TEMPLATES = Path(__file__).with_name("templates")
_SUFFIX = ".tmpl"
_PACKAGE = "PACKAGE"
"""Stands for the package's name in the paths of a template."""

_HIDDEN = ("gitignore",)
_BUNDLED = "echo"
"""The bundled project whose files of the image are every project's."""

_OF_THE_IMAGE = ("server/Dockerfile", ".dockerignore")

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST_NAME = 36
"""With it the longest line of a template still has its 120 characters."""

_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")

_DESCRIPTIONS = {
    "typed": "A walk to the right end of a corridor.",
    "mcp": "A number from 1 to 20 is to be found by tools.",
    "gymnasium": "A ball on a line has to be pushed to the middle.",
}

_RESERVED_IDS = ("openenv/Remote-v0", "openenv/Space-v0")


@dataclass(frozen=True)
class NewProject:
    """A project that is to be made.

    Attributes:
        name: What it is called.
        template: After which template.
        folder: Where, absolute; nothing is there yet.
    """

    name: str
    template: str
    folder: Path

    @property
    def stem(self) -> str:
        """The name without ``_env``."""
        return self.name.removesuffix("_env")

    @property
    def package(self) -> str:
        """The client package's name."""
        return f"{self.stem}_env"

    @property
    def id(self) -> str:
        """The Gymnasium id."""
        return f"openenv/{self.class_name}-v0"

    @property
    def class_name(self) -> str:
        """What its classes' names begin with."""
        return "".join(word.capitalize() for word in self.stem.split("_"))

    def words(self) -> dict[str, str]:
        """What stands for each placeholder."""
        return {
            "name": self.name,
            "folder": self.folder.name,
            "package": self.package,
            "class": self.class_name,
            "id": self.id,
            "title": self.stem.replace("_", " ").capitalize(),
            "distribution": f"openenv-{self.name.replace('_', '-')}",
            "description": _DESCRIPTIONS[self.template],
        }


def new_project(name: str, template: str, folder: Path) -> NewProject:
    """Checks what is to be made.

    Args:
        name: Its name.
        template: One of ``typed``, ``mcp`` and ``gymnasium``.
        folder: Where; ``~`` is expanded.

    Raises:
        ConfigurationError: The name cannot be or is taken, something is at the folder's place, or the folder around it
            is missing.
    """
    _check_name(name)
    try:
        expanded = Path(os.path.abspath(folder.expanduser()))  # noqa: PTH100 (a link at its place is kept in sight)
        str(expanded).encode()  # the README has the folder's name
        around_is_there = expanded.parent.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise ConfigurationError(f"{str(folder)!r} cannot be a project's folder: {why}.") from error
    if os.path.lexists(expanded):
        raise ConfigurationError(f"{expanded} exists already, and is left as it is. Choose another name or --path.")
    if not around_is_there:
        raise ConfigurationError(f"There is no folder {expanded.parent} to make {expanded.name} in.")
    project = NewProject(name, template, expanded)
    _check_id(project)
    return project


def make_project(project: NewProject) -> Path:
    """Makes the project's folder.

    Returns:
        The folder.

    Raises:
        ConfigurationError: It cannot be written, or something has come to its place meanwhile; nothing is left then.
    """
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{project.folder.name}.", dir=project.folder.parent))
        try:
            for path, text in _files(project):
                target = beside / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            beside.chmod(0o777 & ~_umask())
            # Onto a folder with something in it, this fails.
            beside.rename(project.folder)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise ConfigurationError(f"{project.folder} cannot be made: {error.strerror or error}.") from error
    return project.folder


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        nearest = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_0123456789")
        meant = f" You may mean {nearest}." if _NAME.fullmatch(nearest) and len(nearest) <= _LONGEST_NAME else ""
        raise ConfigurationError(
            f"{name!r} cannot be a project's name: it has small letters, digits and _ between them, begins with a "
            f"letter, and is at most {_LONGEST_NAME} long. --path names the folder.{meant}"
        )
    if keyword.iskeyword(name) or name in ("env", "server", "tests"):
        raise ConfigurationError(f"{name!r} means something else in a project or in Python: choose another name.")


def _check_id(project: NewProject) -> None:
    from openenv_gym_registry.catalogue import catalogue

    entries = catalogue().values()
    taken = {entry.id for each in entries for entry in (each, *each.variants)}
    if project.id in taken or project.id in _RESERVED_IDS or project.stem in catalogue():
        raise ConfigurationError(f"{project.id} is another environment already: choose another name.")


def _files(project: NewProject) -> Iterator[tuple[str, str]]:
    """Path and text of each file."""
    words = project.words()
    words["about"] = _filled(_read(_TEMPLATES / project.template / f"about.md{_SUFFIX}"), words).rstrip()
    for root in (_TEMPLATES / "common", _TEMPLATES / project.template):
        for path in sorted(root.rglob(f"*{_SUFFIX}")):
            name = path.relative_to(root).as_posix().removesuffix(_SUFFIX).replace(_PACKAGE, project.package)
            if name != "about.md":
                yield f".{name}" if name in _HIDDEN else name, _filled(_read(path), words)
    from openenv_gym_registry.projects import bundled_project

    for name in _OF_THE_IMAGE:
        yield name, _read(bundled_project(_BUNDLED) / name)


def _filled(text: str, words: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: words[found[1]], text)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
