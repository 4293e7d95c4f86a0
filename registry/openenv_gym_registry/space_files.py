"""What of a project's folder a Space gets. Nothing is written into the folder, and nothing leaves it unlooked at."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.docker.context import LEFT_OUT, dockerfile_of
from openenv_gym_registry.ignore_rules import IgnoreFile, is_ignored, parse_rules
from openenv_gym_registry.secret_files import secret_in
from openenv_gym_registry.space_card import README_NAME, check_card

_IGNORE_FILE = ".openenvignore"
_DOCKERFILE = "Dockerfile"
_VENDOR = "vendor"
_OWN_WHEEL = "openenv_gym-"

_LOOKED_AT = 16 << 20
"""Bytes of a file in which secrets are looked for: weights and data behind that were written by no hand."""


@dataclass(frozen=True)
class SpaceFile:
    """A file of a Space.

    Attributes:
        path: Its path there, with ``/``.
        source: Where its content is.
        size: Bytes.
    """

    path: str
    source: Path
    size: int


def space_files(
    folder: Path, port: int, *, wheel: Path | None = None, allowed: Collection[str] = (), known: Collection[str] = ()
) -> tuple[SpaceFile, ...]:
    """The files that a project's Space has, by path.

    All of the folder but what ``.gitignore``, ``.dockerignore`` and ``.openenvignore`` leave out, the later ones having
    the last word; the project's Dockerfile at the top, where the Hub looks for it; and our own wheel in ``vendor/``.

    Args:
        folder: The project's folder.
        port: Where its server listens.
        wheel: Our wheel; None: the image gets it from the index.
        allowed: Paths that look like secrets and are none.
        known: Values that are secrets wherever they stand.

    Raises:
        ConfigurationError: A link leads out of the folder, something looks like a secret, the README's front matter is
            not a Space's, there is no Dockerfile, or a file cannot be read.
    """
    folder = folder.resolve()
    dockerfile = dockerfile_of(folder)
    try:
        found = {path: folder / path for path in _chosen(folder, _rules(folder))}
        found[_DOCKERFILE] = folder / dockerfile
        check_card((folder / README_NAME).read_text(encoding="utf-8") if README_NAME in found else None, port)
        _refuse_secrets(found, allowed, known)
        if wheel is not None:
            found = {path: source for path, source in found.items() if not path.startswith(f"{_VENDOR}/{_OWN_WHEEL}")}
            found[f"{_VENDOR}/{wheel.name}"] = wheel
        return tuple(SpaceFile(path, found[path], found[path].stat().st_size) for path in sorted(found))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{folder} cannot be read: {error}") from error


def _rules(folder: Path) -> tuple[IgnoreFile, ...]:
    return (
        parse_rules("\n".join(LEFT_OUT), is_dockers=True),
        parse_rules(_text(folder / ".gitignore")),
        # Wheels that the image installs are not git's, but the Space's.
        parse_rules(f"!{_VENDOR}/*.whl", is_dockers=True),
        parse_rules(_text(folder / ".dockerignore"), is_dockers=True),
        parse_rules(_text(folder / _IGNORE_FILE)),
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _chosen(folder: Path, rules: tuple[IgnoreFile, ...]) -> Iterator[str]:
    for here, inner, names in os.walk(folder, onerror=_raise):
        # A link to a folder is listed among the folders, and not followed.
        linked = [name for name in inner if Path(here, name).is_symlink()]
        inner[:] = [name for name in inner if not _is_left_out(Path(here, name).relative_to(folder), rules)]
        for name in sorted([*names, *linked]):
            place = Path(here, name)
            path = place.relative_to(folder).as_posix()
            if not is_ignored(path, rules):
                if place.is_symlink():
                    _check_link(folder, path)
                if place.is_file():
                    yield path


def _is_left_out(inner: Path, rules: tuple[IgnoreFile, ...]) -> bool:
    """Whether nothing of a folder can be wanted, so that it need not be walked."""
    may_come_back = inner.parts[0] == _VENDOR or sum(file.brings_back for file in rules) > 1
    return inner.name == ".git" or (not may_come_back and is_ignored(f"{inner.as_posix()}/_", rules))


def _raise(error: OSError) -> None:
    raise error


def _check_link(folder: Path, path: str) -> None:
    place = folder / path
    remedy = f"Put a copy there, or name the link in {_IGNORE_FILE}."
    try:
        target = place.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(f"{place} is a symbolic link to nothing. {remedy}") from error
    if not target.is_relative_to(folder):
        raise ConfigurationError(
            f"{place} is a symbolic link that leads out of the project, to {place.readlink()}. A Space gets the "
            f"project's own files. {remedy}"
        )
    if target.is_dir():
        raise ConfigurationError(f"{place} is a symbolic link to a folder, which a Space cannot have. {remedy}")
    if ".git" in target.relative_to(folder).parts:
        raise ConfigurationError(f"{place} is a symbolic link into git's own folder. {remedy}")


def _refuse_secrets(found: dict[str, Path], allowed: Collection[str], known: Collection[str]) -> None:
    for path in allowed:
        if path not in found:
            raise ConfigurationError(f"There is no file {path} that would be uploaded, so it need not be allowed.")
    told = []
    for path, source in sorted(found.items()):
        names = {path, source.resolve().name}
        if path not in allowed:
            with source.open("rb") as file:
                content = file.read(_LOOKED_AT)
            why = next(filter(None, (secret_in(name, content, known) for name in sorted(names))), None)
            told += [f"  {path} {why}"] if why else []
    if told:
        listed = "\n".join(told)
        raise ConfigurationError(
            f"Nothing was uploaded, because this looks like a secret:\n{listed}\nName it in {_IGNORE_FILE}, and give "
            "the server its value by --secret NAME; what is no secret can be allowed by --allow PATH."
        )
