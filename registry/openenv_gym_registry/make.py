"""What Gymnasium's ids stand for: the classes behind ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.option_values import check_values
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym_registry.catalogue import Entry, lookup, read_entry
from openenv_gym_registry.projects import bundled_project

_PLACES = ("base_url", "path")
"""The keywords that say where an environment runs; without one, the project itself is run, or its ``image``."""


class CatalogueEnv(RemoteEnv):
    """A bundled environment.

    Its spaces come from the catalogue, so that nothing is started before the first reset. It runs in a process of its
    own on this machine, unless ``base_url=`` says where else, or ``provider="docker"`` or ``image=`` in what.
    """

    def __init__(
        self, project: str, *, variant: str | None = None, render_mode: str | None = None, **keywords: Any
    ) -> None:
        """Describes the environment.

        Args:
            project: The bundled project's name.
            variant: The id of one of its variants; None for the project's own.
            render_mode: As for ``RemoteEnv``.
            **keywords: Those of ``RemoteEnv``, and the environment's reset options.

        Raises:
            UnknownOption: A keyword that is none of these.
        """
        entry = lookup(project, variant)
        self._called, self._more_names = entry.id, tuple(entry.server_keywords)
        super().__init__(render_mode=render_mode, **_bundled(project, variant, keywords))


class CatalogueVectorEnv(RemoteVectorEnv, VectorEnv[Any, Any, Any]):
    """Several sessions of a bundled environment as one vector environment."""

    def __init__(self, project: str, num_envs: int = 1, *, variant: str | None = None, **keywords: Any) -> None:
        """Describes the environment.

        Args:
            project: The bundled project's name.
            variant: The id of one of its variants; None for the project's own.
            num_envs: The number of sub-environments.
            **keywords: Those of ``RemoteVectorEnv``, and the environment's reset options.

        Raises:
            UnknownOption: A keyword that is none of these.
        """
        entry = lookup(project, variant)
        self._called, self._more_names = entry.id, tuple(entry.server_keywords)
        super().__init__(num_envs=num_envs, **_bundled(project, variant, keywords))


class LocalEnv(RemoteEnv):
    """An environment project in a folder, registered by ``register_local``."""

    def __init__(self, path: str, *, render_mode: str | None = None, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteEnv``.

        Raises:
            ConfigurationError: The folder holds no project.
            UnknownOption: A keyword that neither ``RemoteEnv`` nor the environment knows.
        """
        self._called = f"The project {path}"
        super().__init__(render_mode=render_mode, **_local(path, keywords))


class LocalVectorEnv(RemoteVectorEnv, VectorEnv[Any, Any, Any]):
    """Several sessions of an environment project in a folder."""

    def __init__(self, path: str, num_envs: int = 1, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteVectorEnv``.

        Raises:
            ConfigurationError: The folder holds no project.
            UnknownOption: A keyword that neither ``RemoteVectorEnv`` nor the environment knows.
        """
        self._called = f"The project {path}"
        super().__init__(num_envs=num_envs, **_local(path, keywords))


def split_keywords(entry: Entry, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parts the keywords that change the environment's spaces, which belong to its server, from all others.

    Raises:
        ConfigurationError: One of them has a value that it cannot have.
    """
    fixed = {name: keywords[name] for name in entry.server_keywords if name in keywords}
    check_values(entry.id, fixed, entry.server_keyword_schemas)
    return fixed, {name: value for name, value in keywords.items() if name not in fixed}


def declared_in(path: str) -> Declared | None:
    """What the manifest of a project's folder says of its environment; None where there is no manifest.

    Raises:
        ConfigurationError: The manifest is wrong; the message names the line and the field.
    """
    folder = Path(path).expanduser()
    return _said(read_entry(folder)) if (folder / "openenv.yaml").exists() else None


def describe(entry: Entry, keywords: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to ``RemoteEnv``'s keywords what the catalogue says of an environment.

    Args:
        entry: The environment.
        keywords: The keywords.
        fixed: Those that changed its spaces. With some, the server is asked for the spaces when the environment is
            constructed.

    Raises:
        ConfigurationError: A reset option has a value that it cannot have.
    """
    if not fixed:
        return {"declared": _declared(entry), **keywords} if entry.spaces is not None else {**keywords}
    named = {name: keywords[name] for name in entry.reset_options if name in keywords}
    check_values(entry.id, named, entry.reset_options)
    rest = {name: value for name, value in keywords.items() if name not in named}
    return {**rest, "reset_options": {**named, **(keywords.get("reset_options") or {})}}


def place(keywords: Mapping[str, Any], path: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Adds to ``RemoteEnv``'s keywords where the environment runs, if they do not say it, and its server's settings.

    Raises:
        ConfigurationError: There are settings for a server that runs already.
    """
    if not settings:
        return {**keywords} if _says_where(keywords) else {**keywords, "path": path}
    if keywords.get("base_url") is not None:
        raise ConfigurationError(
            f"{', '.join(settings)} would be settings of a server, but base_url names one that runs."
        )
    where = {} if _says_where(keywords) else {"path": path}
    return {**keywords, **where, "settings": {**(keywords.get("settings") or {}), **settings}}


def _bundled(project: str, variant: str | None, keywords: dict[str, Any]) -> dict[str, Any]:
    return _served(lookup(project, variant), keywords, lambda: str(bundled_project(project)))


def _local(path: str, keywords: dict[str, Any]) -> dict[str, Any]:
    entry = read_entry(Path(path))
    told = _served(entry, keywords, lambda: path)
    changes_spaces = bool(split_keywords(entry, keywords)[0])
    return told if changes_spaces else {**told, "declared": _said(entry)}


def _said(entry: Entry) -> Declared:
    """What a manifest says. Unlike the catalogue's, it may leave out what there is."""
    return replace(_declared(entry), reset_options=entry.reset_options or None, render_modes=entry.render_modes or None)


def _served(entry: Entry, keywords: dict[str, Any], path: Callable[[], str]) -> dict[str, Any]:
    fixed, rest = split_keywords(entry, keywords)
    settings = {entry.server_keywords[name]: _as_json(name, value) for name, value in fixed.items()}
    if entry.settings and rest.get("base_url") is None:
        # A variant's own, which those that the person names go before.
        rest = {**rest, "settings": {**entry.settings, **(rest.get("settings") or {})}}
    return place(describe(entry, rest, fixed), "" if _says_where(rest) else path(), settings)


def _as_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}={value!r} is a setting of the server and travels as JSON: {error}") from error


def _says_where(keywords: Mapping[str, Any]) -> bool:
    return any(keywords.get(name) is not None for name in _PLACES)


def _declared(entry: Entry) -> Declared:
    spaces = entry.spaces or {"action": None, "observation": None}
    return Declared(
        action_space=spaces["action"],
        observation_space=spaces["observation"],
        reset_options=entry.reset_options,
        info_keys=entry.info_keys,
        seeded_stream=entry.seeded_stream,
        seed_supported=entry.seed_supported,
        render_modes=entry.render_modes,
        render_fps=entry.render_fps,
    )
