"""Gymnasium's own ids, played by servers of the ``gymnasium`` project.

``openenv/CartPole-v1`` is Gymnasium's ``CartPole-v1`` in a server. An id whose name a bundled project has already, in
whatever version, gets ``Gymnasium-`` in front, because Gymnasium would call the older version of the two outdated:
``openenv/Gymnasium-Blackjack-v1`` beside ``openenv/Blackjack-v0``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_registry.catalogue import Entry, catalogue

PROJECT = "gymnasium"
"""The bundled project that serves them."""

ID_SETTING = "GYMNASIUM_ENV_ID"
_KWARGS_SETTING = "GYMNASIUM_ENV_KWARGS"
_MODULES_SETTING = "GYMNASIUM_ENV_MODULES"
_TIME_LIMIT_SETTING = "GYMNASIUM_ENV_TIME_LIMIT"
_WRAPPERS_SETTING = "GYMNASIUM_ENV_WRAPPERS"

_ENTRY_POINT = "openenv_gym_registry.make_gymnasium:GymnasiumEnv"
_VECTOR_ENTRY_POINT = "openenv_gym_registry.make_gymnasium:GymnasiumVectorEnv"

_ID = re.compile(r"(?:[\w-]+/)?[\w.-]+?(?:-v\d+)?")


def register_gymnasium_project(entry: Entry) -> None:
    """Registers ``openenv/Gymnasium-v0``, and the project's variants as far as this Gymnasium has their ids."""
    if entry.id not in gymnasium.registry:
        _register(entry.id, {"own_time_limit": True})
    for variant in entry.variants:
        env_id = variant.settings[ID_SETTING]
        if variant.id not in gymnasium.registry and env_id in gymnasium.registry:
            _register(
                variant.id,
                {"env_id": env_id},
                max_episode_steps=variant.max_episode_steps,
                reward_threshold=variant.reward_threshold,
                nondeterministic=variant.nondeterministic,
            )


def register_gymnasium(
    env_id: str,
    *,
    id: str | None = None,
    max_episode_steps: int | None = None,
    modules: Iterable[str] = (),
    env_wrappers: Sequence[Any] | None = None,
    **env_kwargs: Any,
) -> str:
    """Registers a Gymnasium id to be played in a server: ``ALE/Pong-v5`` as ``openenv/ALE-Pong-v5``.

    Nothing is imported or started. Where this process has the id registered too, its time limit, its reward threshold
    and whether it is deterministic are taken over; else the server itself keeps the time limit that the id has there.

    Args:
        env_id: The Gymnasium id, as the server's interpreter has it.
        id: The id to register; by default ``openenv/`` and the Gymnasium id with ``-`` for ``/``.
        max_episode_steps: The time limit, instead of the id's own; -1 for none.
        modules: What the server imports first, because it registers the id. ``ale_py`` needs not be named.
        env_wrappers: Gymnasium's wrappers that the server puts around it, the innermost first: names, or dicts of a
            ``name`` and options.
        **env_kwargs: Keywords of the environment's constructor, in JSON's types.

    Returns:
        The id, for ``gymnasium.make`` and ``gymnasium.make_vec``.

    Raises:
        ConfigurationError: It is no Gymnasium id, a keyword is no JSON, the wrappers are no list of such, or the id
            belongs to another environment.
    """
    chosen = id or own_id(env_id)
    kwargs: dict[str, Any] = {"env_id": env_id}
    if env_kwargs:
        kwargs["env_kwargs"] = env_kwargs
    if named := read_modules(modules):
        kwargs["modules"] = named
    if listed := read_wrappers(env_wrappers):
        kwargs["env_wrappers"] = listed
    local = gymnasium.registry.get(env_id)
    if local is None and max_episode_steps is None:
        kwargs["own_time_limit"] = True
    settings_of(**kwargs)
    limit = max_episode_steps if max_episode_steps is not None or local is None else local.max_episode_steps
    limit = None if limit == -1 else limit
    known = gymnasium.registry.get(chosen)
    if known is None:
        _register(
            chosen,
            kwargs,
            max_episode_steps=limit,
            reward_threshold=None if local is None else local.reward_threshold,
            nondeterministic=local is not None and local.nondeterministic,
        )
    elif (known.kwargs, known.max_episode_steps) != (kwargs, limit):
        raise ConfigurationError(
            f"{chosen} is registered already, with {known.kwargs} and max_episode_steps={known.max_episode_steps}: "
            "pass id= to choose another."
        )
    return chosen


def own_id(env_id: str) -> str:
    """The id under which a Gymnasium id is registered by default.

    Raises:
        ConfigurationError: It is no Gymnasium id.
    """
    _check_id(env_id)
    known = variant_of(env_id)
    if known is not None:
        return known.id
    flat = env_id.replace("/", "-")
    taken = {_without_version(entry.id) for entry in catalogue().values()}
    prefix = "Gymnasium-" if _without_version(f"openenv/{flat}") in taken else ""
    return f"openenv/{prefix}{flat}"


def variant_of(env_id: str) -> Entry | None:
    """What the catalogue knows of a Gymnasium id, or None."""
    entry = catalogue()[PROJECT]
    return next((variant for variant in entry.variants if variant.settings[ID_SETTING] == env_id), None)


def settings_of(
    env_id: str,
    env_kwargs: Mapping[str, Any] | None = None,
    modules: Iterable[str] = (),
    *,
    env_wrappers: Sequence[Any] | None = None,
    own_time_limit: bool = False,
) -> dict[str, str]:
    """The settings of a server that serves a Gymnasium id. All are written, so that none is inherited.

    Raises:
        ConfigurationError: It is no Gymnasium id, a keyword is no JSON, the modules are no list of names, or the
            wrappers no list of names and dicts.
    """
    _check_id(env_id)
    named = read_modules(modules)
    try:
        kwargs = json.dumps(dict(env_kwargs or {}), sort_keys=True, allow_nan=False)
        around = json.dumps(read_wrappers(env_wrappers), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"The keywords of {env_id} travel as JSON: {error}") from error
    return {
        ID_SETTING: env_id,
        _KWARGS_SETTING: kwargs,
        _MODULES_SETTING: ",".join(named),
        _TIME_LIMIT_SETTING: str(int(own_time_limit)),
        _WRAPPERS_SETTING: around,
    }


def read_modules(modules: Any) -> list[str]:
    """Reads what a server imports first.

    Raises:
        ConfigurationError: It is no list of names; a text would be taken letter by letter.
    """
    is_list = isinstance(modules, Iterable) and not isinstance(modules, str)
    named = list(modules) if is_list else []
    if not is_list or not all(isinstance(each, str) for each in named):
        raise ConfigurationError(f"modules= must be a list of names such as ['ale_py'], not {modules!r:.80}.")
    return named


def read_wrappers(wrappers: Any) -> list[dict[str, Any]]:
    """Reads what a server puts around an environment, the innermost first: a name alone gets no options.

    Which there are, and with which options, is the server's to know.

    Raises:
        ConfigurationError: It is no list of names and dicts with a name.
    """
    rows = [] if wrappers is None else wrappers
    if isinstance(rows, list | tuple):
        told = [{"name": row} if isinstance(row, str) else row for row in rows]
        if all(isinstance(row, Mapping) and isinstance(row.get("name"), str) for row in told):
            return [dict(row) for row in told]
    example = '["FlattenObservation", {"name": "FrameStackObservation", "stack_size": 4}]'
    raise ConfigurationError(f"env_wrappers= must be a list such as {example}, not {wrappers!r:.80}.")


def _check_id(env_id: str) -> None:
    if not isinstance(env_id, str) or not _ID.fullmatch(env_id):
        raise ConfigurationError(
            f"{env_id!r} is no Gymnasium id such as CartPole-v1 or ALE/Pong-v5. A module that registers it goes into "
            "modules=."
        )


def _without_version(id: str) -> str:
    return re.sub(r"-v\d+$", "", id)


def _register(id: str, kwargs: dict[str, Any], **rest: Any) -> None:
    gymnasium.register(id, entry_point=_ENTRY_POINT, vector_entry_point=_VECTOR_ENTRY_POINT, kwargs=kwargs, **rest)
