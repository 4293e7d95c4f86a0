"""What a project's image is called, wherever one is built, looked for or pushed."""

from __future__ import annotations

import re
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.project import manifest_data

_PREFIX = "openenv-"
_LATEST = "latest"
_MAX_TAG_LENGTH = 128

# What a registry takes between two parts of a name; see the reference grammar of the OCI distribution specification.
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_GOOD_SEPARATOR = re.compile(r"\.|__?|-+")


def image_tag(name: str, version: str | None = None) -> str:
    """The image of a project, such as ``openenv-echo:0.1.0``.

    Args:
        name: The project's name, as ``openenv.yaml`` has it.
        version: The project's version; None: ``latest``.

    Raises:
        ConfigurationError: The name has no letter and no digit.
    """
    lower = re.sub(r"^[^a-z0-9]+|[^a-z0-9]+$", "", name.lower())
    if not lower:
        raise ConfigurationError(f"No image can be called after {name!r}: a name has letters or digits.")
    repository = _SEPARATORS.sub(_separator, lower)
    return f"{_PREFIX}{repository}:{_version_tag(version)}"


def project_tag(folder: str | Path) -> str:
    """The image of the project in a folder.

    A project without a name is called after its folder.

    Raises:
        ConfigurationError: Its ``openenv.yaml`` cannot be read.
    """
    path = Path(folder).expanduser().absolute()
    told = manifest_data(path)
    version = told.get("version")
    return image_tag(str(told.get("name") or path.name), None if version is None else str(version))


def _separator(found: re.Match[str]) -> str:
    text = found.group()
    return text if _GOOD_SEPARATOR.fullmatch(text) else "-"


def _version_tag(version: str | None) -> str:
    # A local version such as 1.0+cpu has a plus sign, which a tag may not have.
    tag = re.sub(r"[^A-Za-z0-9_.-]+", "-", version or _LATEST).lstrip(".-")
    return tag[:_MAX_TAG_LENGTH] or _LATEST
