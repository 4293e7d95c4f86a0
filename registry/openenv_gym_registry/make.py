"""What Gymnasium's ids stand for: the classes behind ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym_protocol.errors import ProviderError

from openenv_gym_registry.catalogue import Entry, lookup, read_entry
from openenv_gym_registry.projects import bundled_project
from openenv_gym_registry.source import space_subdomain

_PLACES = ("base_url", "image", "path")
"""The keywords that say where an environment runs; without one, the project itself is run."""


class CatalogueEnv(RemoteEnv):
    """A bundled environment.

    Its spaces come from the catalogue, so that nothing is started before the first reset. It runs in a process of its
    own on this machine, unless ``base_url=`` or ``image=`` says where else.
    """

    def __init__(self, project: str, *, render_mode: str | None = None, **keywords: Any) -> None:
        """Describes the environment.

        Args:
            project: The bundled project's name.
            render_mode: As for ``RemoteEnv``.
            **keywords: Those of ``RemoteEnv``, and the environment's reset options.

        Raises:
            UnknownOption: A keyword that is none of these.
        """
        super().__init__(render_mode=render_mode, **_bundled(project, keywords))


class CatalogueVectorEnv(RemoteVectorEnv):
    """Several sessions of a bundled environment as one vector environment."""

    def __init__(self, project: str, num_envs: int = 1, **keywords: Any) -> None:
        """Describes the environment.

        Args:
            project: The bundled project's name.
            num_envs: The number of sub-environments.
            **keywords: Those of ``RemoteVectorEnv``, and the environment's reset options.

        Raises:
            UnknownOption: A keyword that is none of these.
        """
        super().__init__(num_envs=num_envs, **_bundled(project, keywords))


class LocalEnv(RemoteEnv):
    """An environment project in a folder, registered by ``register_local``."""

    def __init__(self, path: str, *, render_mode: str | None = None, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteEnv``.

        Raises:
            ConfigurationError: The folder holds no project.
            UnknownOption: A keyword that neither ``RemoteEnv`` nor the environment knows.
        """
        super().__init__(render_mode=render_mode, **_local(path, keywords))


class LocalVectorEnv(RemoteVectorEnv):
    """Several sessions of an environment project in a folder."""

    def __init__(self, path: str, num_envs: int = 1, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteVectorEnv``.

        Raises:
            ConfigurationError: The folder holds no project.
            UnknownOption: A keyword that neither ``RemoteVectorEnv`` nor the environment knows.
        """
        super().__init__(num_envs=num_envs, **_local(path, keywords))


class SpaceEnv(RemoteEnv):
    """A Space of the openenv organisation."""

    def __init__(self, space: str, *, render_mode: str | None = None, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteEnv``.

        Raises:
            ProviderError: Nothing says where the Space's environment runs.
        """
        if not _says_where(keywords):
            _refuse(space)
        super().__init__(render_mode=render_mode, **keywords)


class SpaceVectorEnv(RemoteVectorEnv):
    """Several sessions of a Space's environment."""

    def __init__(self, space: str, num_envs: int = 1, **keywords: Any) -> None:
        """Describes the environment; the keywords are those of ``RemoteVectorEnv``.

        Raises:
            ProviderError: Nothing says where the Space's environment runs.
        """
        if not _says_where(keywords):
            _refuse(space)
        super().__init__(num_envs=num_envs, **keywords)


def _bundled(project: str, keywords: dict[str, Any]) -> dict[str, Any]:
    entry = lookup(project)
    where = {} if _says_where(keywords) else {"path": str(bundled_project(project))}
    return {**_declared(entry), **keywords, **where}


def _local(path: str, keywords: dict[str, Any]) -> dict[str, Any]:
    where = {} if _says_where(keywords) else {"path": path}
    return {**_declared(read_entry(Path(path))), **keywords, **where}


def _says_where(keywords: dict[str, Any]) -> bool:
    return any(keywords.get(place) is not None for place in _PLACES)


def _declared(entry: Entry) -> dict[str, Any]:
    if entry.spaces is None:
        return {}
    declared = Declared(
        action_space=dict(entry.spaces["action"]),
        observation_space=dict(entry.spaces["observation"]),
        reset_options=entry.reset_options,
        info_keys=entry.info_keys,
        seeded_stream=entry.seeded_stream,
        seed_supported=entry.seed_supported,
    )
    return {"declared": declared}


def _refuse(space: str) -> NoReturn:
    raise ProviderError(
        f"The Space {space} needs the space provider, which this version does not have. Where the Space is awake, "
        f'gymnasium.make("openenv/Remote-v0", base_url="https://{space_subdomain(space)}.hf.space") reaches it.'
    )
