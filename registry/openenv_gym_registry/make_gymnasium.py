"""The classes behind Gymnasium's ids in ``openenv/``, such as ``openenv/CartPole-v1``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gymnasium.vector import VectorEnv
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym_registry.catalogue import lookup
from openenv_gym_registry.gymnasium_ids import PROJECT, own_id, read_modules, read_wrappers, settings_of, variant_of
from openenv_gym_registry.make import describe, place, split_keywords
from openenv_gym_registry.projects import bundled_project

_DEFAULT_ID = "CartPole-v1"


class GymnasiumEnv(RemoteEnv):
    """One environment of Gymnasium in a server.

    Of ids that the catalogue has, the spaces are known and nothing is started before the first reset, unless
    ``env_kwargs`` changes the spaces; of others the server is asked.
    """

    def __init__(
        self,
        env_id: str | None = None,
        *,
        env_kwargs: Mapping[str, Any] | None = None,
        modules: Iterable[str] = (),
        env_wrappers: Sequence[Any] | None = None,
        own_time_limit: bool = False,
        render_mode: str | None = None,
        **keywords: Any,
    ) -> None:
        """Describes the environment.

        Args:
            env_id: The Gymnasium id, as the server's interpreter has it; by default what the server at ``base_url``
                serves, else CartPole-v1.
            env_kwargs: Keywords of the environment's constructor that belong to the server, because they are no
                numbers and flags or change the spaces.
            modules: What the server imports first, because it registers the id.
            env_wrappers: Gymnasium's wrappers that the server puts around it, the innermost first: names, or dicts of a
                ``name`` and options.
            own_time_limit: Whether the server cuts episodes off at the id's own limit. Gymnasium's
                ``max_episode_steps`` can only cut them off earlier then; with False it is all that does.
            render_mode: As for ``RemoteEnv``.
            **keywords: Those of ``RemoteEnv``, and of an id that the catalogue has also its constructor's.

        Raises:
            ConfigurationError: It is no Gymnasium id, or ``base_url`` and keywords of the server are both given.
            UnknownOption: A keyword that is none of these.
        """
        where = _where(env_id, env_kwargs, modules, keywords, env_wrappers=env_wrappers, own_time_limit=own_time_limit)
        self._called, self._more_names = _id_of(env_id), _names_of(env_id)
        super().__init__(render_mode=render_mode, **where)


class GymnasiumVectorEnv(RemoteVectorEnv, VectorEnv[Any, Any, Any]):
    """Several sessions of an environment of Gymnasium."""

    def __init__(
        self,
        env_id: str | None = None,
        num_envs: int = 1,
        *,
        env_kwargs: Mapping[str, Any] | None = None,
        modules: Iterable[str] = (),
        env_wrappers: Sequence[Any] | None = None,
        own_time_limit: bool = False,
        **keywords: Any,
    ) -> None:
        """Describes the environment.

        Args:
            env_id: As for ``GymnasiumEnv``.
            num_envs: The number of sub-environments.
            env_kwargs: As for ``GymnasiumEnv``.
            modules: As for ``GymnasiumEnv``.
            env_wrappers: As for ``GymnasiumEnv``.
            own_time_limit: As for ``GymnasiumEnv``; ``max_episode_steps`` goes before it.
            **keywords: Those of ``RemoteVectorEnv``, and of an id that the catalogue has also its constructor's.

        Raises:
            ConfigurationError: It is no Gymnasium id, or ``base_url`` and keywords of the server are both given.
            UnknownOption: A keyword that is none of these.
        """
        # gymnasium.make_vec says here which limit was asked for; gymnasium.make keeps it for its own wrapper.
        own_time_limit = own_time_limit and keywords.get("max_episode_steps") is None
        where = _where(env_id, env_kwargs, modules, keywords, env_wrappers=env_wrappers, own_time_limit=own_time_limit)
        self._called, self._more_names = _id_of(env_id), _names_of(env_id)
        super().__init__(num_envs=num_envs, **where)


def _id_of(env_id: str | None) -> str:
    return lookup(PROJECT).id if env_id is None else own_id(env_id)


def _checked(env_kwargs: Any) -> Mapping[str, Any]:
    if not (env_kwargs is None or isinstance(env_kwargs, Mapping)):
        raise ConfigurationError(f"env_kwargs= must be a dict of the constructor's keywords, not {env_kwargs!r:.80}.")
    return env_kwargs or {}


def _names_of(env_id: str | None) -> tuple[str, ...]:
    known = None if env_id is None else variant_of(env_id)
    own = ("env_id", "env_kwargs", "env_wrappers", "modules", "own_time_limit")
    return (*own, *(known.server_keywords if known else ()))


def _where(
    env_id: str | None,
    env_kwargs: Mapping[str, Any] | None,
    modules: Iterable[str],
    keywords: dict[str, Any],
    *,
    env_wrappers: Sequence[Any] | None,
    own_time_limit: bool,
) -> dict[str, Any]:
    """The keywords of ``RemoteEnv``."""
    is_running = keywords.get("base_url") is not None
    known = None if env_id is None and is_running else variant_of(env_id or _DEFAULT_ID)
    fixed, told = ({}, keywords) if known is None else split_keywords(known, keywords)
    fixed = {**_checked(env_kwargs), **fixed}
    modules, around = read_modules(modules), read_wrappers(env_wrappers)
    if known is not None:
        # Wrappers change the spaces too.
        told = describe(known, told, {**fixed, "env_wrappers": around} if around else fixed)
    if is_running and not fixed and not modules and not around:
        return told
    settings = settings_of(env_id or _DEFAULT_ID, fixed, modules, env_wrappers=around, own_time_limit=own_time_limit)
    return place(told, str(bundled_project(PROJECT)), settings)
