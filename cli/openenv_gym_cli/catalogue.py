"""The environments that have an id on this machine."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import NamedTuple

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.catalogue import Entry, catalogue, known_spaces, read_entry
from openenv_gym_registry.installed import GROUP, installed_project

from openenv_gym_cli import output


class Listed(NamedTuple):
    """One environment.

    Attributes:
        id: Its Gymnasium id.
        kind: ``bundled``, ``installed`` or ``space``.
        origin: The project, the package, or the Space.
        description: One sentence, where there is one.
    """

    id: str
    kind: str
    origin: str
    description: str


def listed() -> list[Listed]:
    """All of them: bundled ones with their variants, installed packages', known Spaces."""
    rows = [Listed(entry.id, "bundled", entry.project, entry.description) for entry in entries().values()]
    rows += [Listed(entry.id, "installed", package, entry.description) for package, entry in installed().items()]
    return rows + [Listed(each.id, "space", each.space, "") for each in known_spaces()]


def entries() -> dict[str, Entry]:
    """The bundled environments and their variants, by id."""
    return {each.id: each for entry in catalogue().values() for each in (entry, *entry.variants)}


def installed() -> dict[str, Entry]:
    """The environments of installed packages, by package; a broken one is noted and left out."""
    found = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        package = entry_point.module.partition(".")[0]
        if entry_point.name not in catalogue():  # a bundled one beats it
            try:
                found[package] = read_entry(installed_project(package))
            except ConfigurationError as error:
                output.note(f"{package} is left out: {error.message}")
    return found
