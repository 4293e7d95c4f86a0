"""The release of openenv-gym that runs, as both ends of the vector wire name themselves."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def product() -> str:
    """Name and version, such as ``openenv-gym/0.1.0``; the version is 0 where nothing was installed."""
    try:
        return f"openenv-gym/{version('openenv-gym')}"
    except PackageNotFoundError:
        return "openenv-gym/0"  # run from a folder that is not installed
