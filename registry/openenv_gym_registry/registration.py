"""Gymnasium ids for environments: the bundled ones at import, others on request."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import gymnasium
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_registry.catalogue import Entry, catalogue, known_spaces, read_entry
from openenv_gym_registry.gymnasium_ids import PROJECT, register_gymnasium_project
from openenv_gym_registry.projects import projects_root
from openenv_gym_registry.source import parse_space

logger = logging.getLogger(__name__)

REMOTE_ID = "openenv/Remote-v0"
"""The id of an environment anywhere: ``gymnasium.make`` gets ``base_url=``, ``image=`` or ``path=``."""

SPACE_ID = "openenv/Space-v0"
"""The id of any Space: ``gymnasium.make`` gets ``space=``."""

_MAKE = "openenv_gym_registry.make"
_MAKE_SPACE = "openenv_gym_registry.make_space"


def register_all() -> None:
    """Registers the bundled environments, the known Spaces, ``openenv/Space-v0`` and ``openenv/Remote-v0``.

    It reads two files of this package, and the one of ``openenv_gym_registry.search.sync`` where that was called;
    what is registered already stays as it is.
    """
    for entry in catalogue().values():
        if entry.project == PROJECT:
            register_gymnasium_project(entry)
            continue
        if entry.id not in gymnasium.registry:
            _register_entry(entry, "Catalogue", project=entry.project)
        for variant in entry.variants:
            if variant.id not in gymnasium.registry:
                _register_entry(variant, "Catalogue", project=entry.project, variant=variant.id)
    register_known_spaces()
    if SPACE_ID not in gymnasium.registry:
        _register_space(SPACE_ID)
    if REMOTE_ID not in gymnasium.registry:
        _register(REMOTE_ID, "openenv_gym.bridge.env:RemoteEnv", "openenv_gym.bridge.vector:RemoteVectorEnv")


def register_known_spaces() -> None:
    """Registers the Spaces that have an id of their own; what is registered already stays as it is."""
    for known in known_spaces():
        if known.id not in gymnasium.registry:
            _register_space(known.id, space=known.space)


def register_space(space: str, *, revision: str | None = None, id: str | None = None) -> str:
    """Registers a Hugging Face Space. Nothing is looked up, and no code of it ever runs here.

    Args:
        space: The Space in any way that people write one: ``owner/name``, with ``@revision``, the address of its page
            or of its host.
        revision: The branch, tag or commit that has to be what runs there.
        id: The Gymnasium id; by default ``openenv/owner.name``.

    Returns:
        The id, for ``gymnasium.make`` and ``gymnasium.make_vec``.

    Raises:
        ConfigurationError: It names no Space, or the id belongs to another environment.
    """
    parsed = parse_space(space)
    if parsed.revision is not None and revision not in (None, parsed.revision):
        raise ConfigurationError(f"{space!r} and revision={revision!r} name two revisions.")
    kwargs = {"space": parsed.id or parsed.base_url}
    if revision := revision or parsed.revision:
        if parsed.id is None:
            raise ConfigurationError(f"revision= needs the Space's id, owner/name; {space!r} tells its host only.")
        kwargs["revision"] = str(parse_space(f"{parsed.id}@{revision}").revision)
    chosen = id or f"openenv/{parsed.id.replace('/', '.') if parsed.id else parsed.subdomain}"
    known = gymnasium.registry.get(chosen)
    if known is not None and known.kwargs.get("space") != kwargs["space"]:
        raise ConfigurationError(
            f"{chosen} belongs to another environment ({_origin(known)}). Choose another id: "
            f'register_space({space!r}, id="{_free_id(chosen)}").'
        )
    gymnasium.registry.pop(chosen, None)  # the same Space again, maybe at another revision
    _register_space(chosen, **kwargs)
    logger.info("registered %s for the Space %s", chosen, kwargs["space"])
    return chosen


def register_local(path: str | Path, *, id: str | None = None) -> str:
    """Registers an environment project in a folder.

    Args:
        path: The project's folder; ``~`` is expanded.
        id: The Gymnasium id; by default the one its ``openenv.yaml`` declares, or ``openenv/<Name>-v0``.

    Returns:
        The id, for ``gymnasium.make`` and ``gymnasium.make_vec``. A bundled project has its id already.

    Raises:
        ConfigurationError: The folder holds no project, its manifest is wrong, or the id belongs to another
            environment.
    """
    folder = Path(path).expanduser().resolve()
    bundled = _bundled(folder)
    if bundled is not None and id in (None, bundled):
        return bundled
    entry = read_entry(folder)
    if not (folder / "server" / "app.py").is_file():
        raise ConfigurationError(f"{folder} is no environment project: it has no server/app.py.")
    chosen = id or entry.id
    known = gymnasium.registry.get(chosen)
    if known is not None and known.kwargs.get("path") != str(folder):
        raise ConfigurationError(
            f"{chosen} belongs to another environment ({_origin(known)}). Choose another id: "
            f'register_local({str(folder)!r}, id="{_free_id(chosen)}").'
        )
    gymnasium.registry.pop(chosen, None)  # the same folder again: its manifest may say something new
    _register_entry(entry, "Local", id=chosen, path=str(folder))
    logger.info("registered %s for %s", chosen, folder)
    return chosen


def _register_entry(entry: Entry, kind: str, *, id: str | None = None, **kwargs: Any) -> None:
    _register(
        id or entry.id,
        f"{_MAKE}:{kind}Env",
        f"{_MAKE}:{kind}VectorEnv",
        max_episode_steps=entry.max_episode_steps,
        reward_threshold=entry.reward_threshold,
        nondeterministic=entry.nondeterministic,
        kwargs=kwargs,
    )


def _register_space(id: str, **kwargs: str) -> None:
    _register(id, f"{_MAKE_SPACE}:SpaceEnv", f"{_MAKE_SPACE}:SpaceVectorEnv", kwargs=kwargs)


def _register(id: str, entry_point: str, vector_entry_point: str, **rest: Any) -> None:
    gymnasium.register(id, entry_point=entry_point, vector_entry_point=vector_entry_point, **rest)


def _bundled(folder: Path) -> str | None:
    """The registered id of a bundled project's own folder."""
    entry = catalogue().get(folder.name)
    if entry is None or entry.id not in gymnasium.registry:
        return None
    return entry.id if folder == (projects_root() / folder.name).resolve() else None


def _free_id(taken: str) -> str:
    name, _, version = taken.rpartition("-v")
    names = (f"{name or taken}{suffix}-v{version or 0}" for suffix in ("Local", *map(str, range(2, 10**6))))
    return next(id for id in names if id not in gymnasium.registry)


def _origin(spec: Any) -> str:
    known = spec.kwargs.get("path") or spec.kwargs.get("project") or spec.kwargs.get("space")
    return str(known or spec.entry_point)
