"""What the ids of Hugging Face Spaces stand for: the classes behind ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.vector import VectorEnv
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym_registry.source import parse_space

_ELSEWHERE = ("base_url", "path", "image")
"""The keywords that say where the environment runs if not in its Space."""

_OPTIONS = ("revision", "token", "hub_token")
"""Keywords that are options of the space provider."""


class SpaceEnv(RemoteEnv):
    """An environment in a Hugging Face Space, which is woken when it is constructed; no code of it runs here."""

    _more_names = ("space", *_OPTIONS)

    def __init__(self, space: str | None = None, *, render_mode: str | None = None, **keywords: Any) -> None:
        """Describes the environment.

        Args:
            space: The Space, in any way that people write one.
            render_mode: As for ``RemoteEnv``.
            **keywords: Those of ``RemoteEnv``; and ``revision=``, what has to run there; ``token="env:NAME"``, the
                environment's own token; ``hub_token="env:NAME"``, the Hub's. ``base_url=``, ``image=`` or ``path=``
                say where the Space's environment runs in its place.

        Raises:
            ConfigurationError: Nothing names a Space.
            SpaceNotFound: There is none, or it is private.
            ServerStartError: It failed, is paused, or did not wake in time.
            OpenEnvGymError: As for ``RemoteEnv``.
        """
        self._called = f"The Space {space}"
        super().__init__(render_mode=render_mode, **_placed(space, keywords))


class SpaceVectorEnv(RemoteVectorEnv, VectorEnv[Any, Any, Any]):
    """Several sessions of a Space's environment as one vector environment."""

    _more_names = ("space", *_OPTIONS)

    def __init__(self, space: str | None = None, num_envs: int = 1, **keywords: Any) -> None:
        """Describes the environment.

        Args:
            space: The Space, in any way that people write one.
            num_envs: The number of sub-environments.
            **keywords: Those of ``RemoteVectorEnv``, and ``SpaceEnv``'s.

        Raises:
            OpenEnvGymError: As for ``SpaceEnv``.
        """
        self._called = f"The Space {space}"
        super().__init__(num_envs=num_envs, **_placed(space, keywords))


def _placed(space: str | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to ``RemoteEnv``'s keywords that the environment is in its Space, if they do not say where else it is."""
    given = {name: keywords[name] for name in _OPTIONS if keywords.get(name) is not None}
    rest = {name: value for name, value in keywords.items() if name not in _OPTIONS}
    if any(keywords.get(name) is not None for name in _ELSEWHERE):
        if wrong := given.keys() & {"revision", "hub_token"}:
            raise ConfigurationError(
                f"{', '.join(sorted(wrong))}= is of a Space, but the environment is to run elsewhere."
            )
        return {**rest, **given}
    if space is None:
        raise ConfigurationError('Give space=, such as space="owner/name".')
    parse_space(space)
    told = rest.get("provider")
    options = dict(told) if isinstance(told, Mapping) else {} if told is None else {"name": told}
    if options.setdefault("name", "space") != "space":
        raise ConfigurationError(
            f"provider={options['name']!r} cannot run a Space from its name: give the image= or the path= of its "
            "project too (`openenv pull` gets it)."
        )
    return {**rest, "provider": {**options, "space": space, **given}}
