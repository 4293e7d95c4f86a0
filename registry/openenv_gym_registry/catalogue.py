"""What is known of environments before any server runs: the bundled projects and the Spaces of openenv.

Both are files of this package, read once. ``python -m openenv_gym_registry.catalogue --write`` makes
``catalogue.json`` anew from the bundled projects' ``openenv.yaml``; ``--check`` says whether it would change.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, nearest

CATALOGUE_PATH = Path(__file__).with_name("catalogue.json")
SPACES_PATH = Path(__file__).with_name("spaces.json")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One bundled environment.

    Attributes:
        id: Its Gymnasium id.
        project: The name of its folder.
        description: One sentence.
        max_episode_steps: The time limit in steps, or None.
        reward_threshold: The return at which it counts as solved, or None.
        nondeterministic: Whether equal seeds and actions may end differently.
        spaces: The exact spaces as data, ``{"action": ..., "observation": ...}``, or None.
        reset_options: The JSON Schema of each reset option.
        info_keys: The metadata keys that every reset and step sets.
        seeded_stream: Whether unseeded resets continue the environment's own random stream; None when not said.
        seed_supported: Whether a seed determines the episode; None when not said.
        settings: The environment variables that its server has.
        server_keywords: Keywords that belong to those, because they change the spaces; each with the variable that
            has its value as JSON.
        server_keyword_schemas: The JSON Schema of each of them, as far as it is told.
        render_modes: What it can be pictured as.
        render_fps: Pictures a second, or None.
        variants: Further ids of the project, whose servers have other settings.
    """

    id: str
    project: str
    description: str = ""
    max_episode_steps: int | None = None
    reward_threshold: float | None = None
    nondeterministic: bool = False
    spaces: Mapping[str, Any] | None = None
    reset_options: Mapping[str, Any] = field(default_factory=dict)
    info_keys: tuple[str, ...] = ()
    seeded_stream: bool | None = None
    seed_supported: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    server_keywords: Mapping[str, str] = field(default_factory=dict)
    server_keyword_schemas: Mapping[str, Any] = field(default_factory=dict)
    render_modes: tuple[str, ...] = ()
    render_fps: int | None = None
    variants: tuple[Entry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KnownSpace:
    """One Space of the openenv organisation.

    Attributes:
        id: Its Gymnasium id.
        space: Its id on the Hub, ``owner/name``.
    """

    id: str
    space: str


@functools.cache
def catalogue() -> Mapping[str, Entry]:
    """The bundled environments by their project's name."""
    entries = json.loads(CATALOGUE_PATH.read_text(encoding="utf-8"))
    return {entry["project"]: _entry(entry) for entry in entries}


@functools.cache
def known_spaces() -> tuple[KnownSpace, ...]:
    """The Spaces that have an id of their own: those of this release, and those that ``sync`` has found since."""
    rows = {row["id"]: row for row in json.loads(SPACES_PATH.read_text(encoding="utf-8"))}
    return tuple(KnownSpace(**row) for row in {**rows, **_synced()}.values())


def synced_spaces_path() -> Path:
    """Where ``sync`` keeps what it has found."""
    # The front door imports this module for the ids, so that the front door cannot come first here.
    from openenv_gym.providers.user_cache import cache_root

    return cache_root() / "spaces.json"


def _is_id_of(space: str, id: str) -> bool:
    return id == space and re.fullmatch(r"openenv/[A-Za-z0-9][\w.-]*", id) is not None


def _synced() -> dict[str, dict[str, str]]:
    path = synced_spaces_path()
    try:
        rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return {
            row["id"]: {"id": row["id"], "space": row["space"]} for row in rows if _is_id_of(row["space"], row["id"])
        }
    except (OSError, ValueError, KeyError, TypeError):
        # A cache: what is wrong with it must not keep anybody from importing this package.
        return {}


def lookup(project: str, variant: str | None = None) -> Entry:
    """One bundled environment.

    Args:
        project: The name of its folder.
        variant: The id of one of its variants; None for the project's own.

    Raises:
        ConfigurationError: There is none of that name; the message names the nearest.
    """
    entry = catalogue().get(project)
    if entry is None:
        raise ConfigurationError(f"There is no bundled environment {project!r}. {nearest(project, catalogue())}")
    if variant is None:
        return entry
    variants = {each.id: each for each in entry.variants}
    if variant not in variants:
        raise ConfigurationError(f"{project} has no variant {variant!r}. {nearest(variant, variants)}")
    return variants[variant]


def read_entry(folder: Path) -> Entry:
    """Reads a project's entry from its manifest.

    Raises:
        ConfigurationError: The manifest is missing or wrong.
    """
    # The manifest's reader brings pydantic models and a YAML parser, which registration does without.
    from openenv_gym_registry.manifest import read_manifest

    manifest = read_manifest(folder)
    told = manifest.gymnasium.model_dump(exclude={"id", "variants"})
    shared = {"project": folder.name, "seeded_stream": told["seeded_stream"], "seed_supported": told["seed_supported"]}
    variants = [{**shared, "id": id, **block.model_dump()} for id, block in manifest.gymnasium.variants.items()]
    return _entry(
        {"id": manifest.gymnasium_id, "description": manifest.description, **shared, **told, "variants": variants}
    )


def _entry(told: Mapping[str, Any]) -> Entry:
    """An entry from plain data, whose tuples are lists."""
    rows: dict[str, Any] = {name: tuple(told[name]) for name in ("info_keys", "render_modes")}
    # A manifest has the variable alone, or beside the schema of the keyword; the catalogue has them apart.
    described = {name: dict(value) for name, value in told["server_keywords"].items() if not isinstance(value, str)}
    variables = {name: value.pop("variable") for name, value in described.items()}
    rows["server_keywords"] = {**told["server_keywords"], **variables}
    rows["server_keyword_schemas"] = {**told.get("server_keyword_schemas", {}), **described}
    return Entry(**{**told, **rows, "variants": tuple(_entry(variant) for variant in told.get("variants", ()))})


def built_catalogue(root: Path) -> str:
    """The text that ``catalogue.json`` should have.

    Args:
        root: The folder of the bundled projects.
    """
    folders = sorted(folder for folder in root.iterdir() if (folder / "openenv.yaml").is_file())
    return json.dumps([asdict(read_entry(folder)) for folder in folders], indent=1) + "\n"


def main(arguments: list[str]) -> int:
    """Writes or checks the catalogue.

    Args:
        arguments: ``["--write"]`` or ``["--check"]``.

    Returns:
        The exit code: 1 when ``--check`` found a difference, 2 when the arguments are wrong.
    """
    from openenv_gym_registry.projects import projects_root

    if arguments == ["--write"]:
        CATALOGUE_PATH.write_text(built_catalogue(projects_root()), encoding="utf-8")
        return 0
    if arguments == ["--check"]:
        return int(CATALOGUE_PATH.read_text(encoding="utf-8") != built_catalogue(projects_root()))
    sys.stderr.write("usage: python -m openenv_gym_registry.catalogue --write | --check\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
