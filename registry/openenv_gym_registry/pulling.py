"""A Space's project on this machine, whole or not at all. None of its code is run."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, ProtocolFailure

from openenv_gym_registry.hub import require_hub
from openenv_gym_registry.manifest import MANIFEST_NAME
from openenv_gym_registry.source import is_commit, space_with_id

_NOTES = ".cache/huggingface"
"""Where huggingface_hub keeps its notes on what it has downloaded."""


@dataclass(frozen=True)
class PulledProject:
    """A project that was a Space's.

    Attributes:
        space: ``owner/name``.
        revision: The full id of the commit.
        folder: Where it lies now.
    """

    space: str
    revision: str
    folder: Path


def pull(text: str, folder: str | Path | None = None) -> PulledProject:
    """Downloads the project of a Space.

    Args:
        text: The Space in any way that people write one, with ``@revision`` if need be.
        folder: The folder to make; None: the Space's name, here.

    Raises:
        ConfigurationError: It names no Space, the folder is there already, the Space has no ``openenv.yaml``, or a
            file's name leads out of the folder. Nothing was written.
        OpenEnvGymError: The Hub cannot be asked; nothing is left of what was downloaded.
    """
    space, id = space_with_id(text)
    target = Path(folder if folder is not None else id.partition("/")[2]).expanduser().absolute()
    if target.exists() or target.is_symlink():
        raise ConfigurationError(f"{target} is there already. Name another folder: openenv pull {text} FOLDER.")
    require_hub()
    from openenv_gym_registry.hub.download import download_space
    from openenv_gym_registry.hub.reading import HubReader
    from openenv_gym_registry.hub.session import HubSession

    row = HubReader(HubSession()).space(id, space.revision)
    sha = _checked(id, row)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as place:
            made = Path(place) / "project"
            download_space(id, sha, made)
            shutil.rmtree(made / _NOTES, ignore_errors=True)
            with contextlib.suppress(OSError):  # the Space has more there
                (made / _NOTES).parent.rmdir()
            made.rename(target)
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error}") from error
    return PulledProject(id, sha, target)


def refuse_ways_out(paths: Iterable[str], space: str) -> None:
    """Refuses names of files that would be written elsewhere than into the project's folder.

    Raises:
        ConfigurationError: There is one.
    """
    for path in paths:
        parts = PurePosixPath(path).parts
        is_good = bool(path) and path.isprintable() and "\\" not in path and not path.startswith("/")
        if not is_good or ".." in parts or ":" in parts[0] or parts[0].lower() == ".git":
            raise ConfigurationError(
                f"{space} has a file {path!r}, which would not be written into the project's folder. Nothing was "
                "downloaded: do not trust that Space."
            )


def _checked(space: str, row: Any) -> str:
    sha = row.get("sha")
    try:
        paths = [str(each["rfilename"]) for each in row["siblings"]]
    except (LookupError, TypeError) as error:
        raise ProtocolFailure(f"The Hub does not tell the files of {space}.") from error
    if not is_commit(sha):
        raise ProtocolFailure(f"The Hub does not tell the commit of {space}.")
    refuse_ways_out(paths, space)
    if MANIFEST_NAME not in paths:
        raise ConfigurationError(f"{space} is no environment project: it has no {MANIFEST_NAME}.")
    return sha
