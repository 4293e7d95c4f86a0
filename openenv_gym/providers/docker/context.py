"""What of a project's folder an image is built from, as an archive; nothing is written into the folder."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from openenv_gym_protocol.errors import ConfigurationError

_DOCKERFILES = ("server/Dockerfile", "Dockerfile")
"""Where a project's Dockerfile is looked for, in this order."""

_VENDOR = "vendor"

LEFT_OUT = (
    "**/.git",
    "**/.venv",
    "**/.env",
    "**/.env.*",
    "**/__pycache__",
    "**/*.pyc",
    "**/.*_cache",
    "**/node_modules",
)
"""What no image needs; a project's ``.dockerignore`` adds to it, and brings back by ``!`` what it does need."""

_IGNORE_FILE = ".dockerignore"
_IN_MEMORY = 8 << 20


def dockerfile_of(folder: Path) -> str:
    """The project's Dockerfile, as a path in its folder.

    Raises:
        ConfigurationError: There is no such folder, or no Dockerfile in it.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder. An image is built from an environment project's folder.")
    for name in _DOCKERFILES:
        if (folder / name).is_file():
            return name
    raise ConfigurationError(f"{folder} has no {' and no '.join(_DOCKERFILES)}: there is nothing to build an image by.")


def context_files(folder: Path) -> list[str]:
    """What of a project's folder goes into the build: paths in it, sorted.

    Args:
        folder: The project's folder, without symbolic links in its own path.

    Raises:
        ConfigurationError: A symbolic link leads out of the folder.
    """
    # Here: who only wants to know what the provider can do need not have the SDK.
    from docker.utils import exclude_paths

    patterns = [*LEFT_OUT, *_ignored(folder)]
    paths = sorted(exclude_paths(str(folder), patterns, dockerfile=dockerfile_of(folder)))
    for path in paths:
        _refuse_a_way_out(folder, path)
    return paths


@contextmanager
def build_context(folder: Path, wheels: Sequence[Path]) -> Iterator[IO[bytes]]:
    """The archive that the engine builds from.

    Modes and owners are the same whoever packs it, so that an engine recognises what it has built already.

    Args:
        folder: The project's folder.
        wheels: What is put into ``vendor/``; another wheel of the same distribution there makes way.

    Raises:
        ConfigurationError: See ``context_files``; or a file cannot be read.
    """
    folder = folder.resolve()
    replaced = tuple(f"{_VENDOR}/{_distribution(wheel)}-" for wheel in wheels)
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        try:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for path in context_files(folder):
                    if not (path.endswith(".whl") and path.startswith(replaced)):
                        _add(archive, folder / path, path)
                for wheel in wheels:
                    _add(archive, wheel, f"{_VENDOR}/{wheel.name}")
        except OSError as error:
            raise ConfigurationError(f"{folder} cannot be packed for the build: {error}") from error
        file.seek(0)
        yield file


def _distribution(wheel: Path) -> str:
    return wheel.name.partition("-")[0]


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    entry = archive.gettarinfo(str(path), name)
    # None: a socket, which no image can hold.
    if entry is None or not (entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()):
        return
    if entry.islnk():
        # A second name of a file that the archive has already: packed as a file of its own.
        entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    if entry.isfile():
        with path.open("rb") as content:
            archive.addfile(entry, content)
    else:
        archive.addfile(entry)


def _ignored(folder: Path) -> list[str]:
    try:
        text = (folder / _IGNORE_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{folder / _IGNORE_FILE} cannot be read: {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _refuse_a_way_out(folder: Path, path: str) -> None:
    place = folder / path
    if not place.is_symlink():
        return
    target = place.readlink()
    leads_to = os.path.normpath(PurePosixPath(path).parent / target)
    if target.is_absolute() or leads_to == ".." or leads_to.startswith("../"):
        raise ConfigurationError(
            f"{place} is a symbolic link that leads out of the project, to {target}. An image is built from the "
            f"project's own files: put a copy there, or name the link in {_IGNORE_FILE}."
        )
