"""What a server serves: the only module here that reads environment variables.

Nothing in a request can change any of it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from gymnasium_env.wrappers import SETTING, Wrapper, read_wrappers

DEFAULT_ID = "CartPole-v1"

_ID = re.compile(r"(?:[\w-]+/)?[\w.-]+")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

_NAMESPACES = {"ALE": "ale_py"}
"""The module that registers a namespace's ids, where it has another name."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served.

    Attributes:
        env_id: A registered Gymnasium id.
        env_kwargs: Keywords of its constructor that hold for every session, such as those that change its spaces.
        modules: Imported first, because they register ids.
        options: The constructor's keywords that clients may set at a reset; None for all that are numbers or flags.
        own_time_limit: Whether the server cuts episodes off at the id's own limit. By default the client does.
        wrappers: What is put around the environment, the innermost first.
    """

    env_id: str = DEFAULT_ID
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] | None = None
    own_time_limit: bool = False
    wrappers: tuple[Wrapper, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``GYMNASIUM_ENV_ID``, ``_KWARGS``, ``_MODULES``, ``_OPTIONS``, ``_TIME_LIMIT`` and ``_WRAPPERS``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        env_id = read.get("GYMNASIUM_ENV_ID", "") or DEFAULT_ID
        if not _ID.fullmatch(env_id):
            raise ConfigurationError(f"GYMNASIUM_ENV_ID={env_id!r} is no Gymnasium id; modules are named apart.")
        options = read.get("GYMNASIUM_ENV_OPTIONS")
        return cls(
            env_id=env_id,
            env_kwargs=_json_object(read.get("GYMNASIUM_ENV_KWARGS", "") or "{}"),
            modules=_modules(env_id, _names(read.get("GYMNASIUM_ENV_MODULES", ""))),
            options=None if options is None else _names(options),
            own_time_limit=_flag(read.get("GYMNASIUM_ENV_TIME_LIMIT", "")),
            wrappers=read_wrappers(_json(SETTING, read.get(SETTING, "") or "[]")),
        )


def _json(variable: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{variable} is no JSON: {error}") from error


def _json_object(text: str) -> dict[str, Any]:
    value = _json("GYMNASIUM_ENV_KWARGS", text)
    if not isinstance(value, dict):
        raise ConfigurationError(f"GYMNASIUM_ENV_KWARGS is a JSON object of keywords, not {value!r}.")
    if "render_mode" in value:
        raise ConfigurationError("GYMNASIUM_ENV_KWARGS has render_mode, which is chosen when a picture is asked for.")
    return value


def _modules(env_id: str, named: tuple[str, ...]) -> tuple[str, ...]:
    for name in named:
        if not _MODULE.fullmatch(name):
            raise ConfigurationError(f"GYMNASIUM_ENV_MODULES names {name!r}, which is no module.")
    known = _NAMESPACES.get(env_id.partition("/")[0])
    return named if known is None or known in named else (known, *named)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _flag(text: str) -> bool:
    if text.lower() not in ("", "0", "1", "false", "true"):
        raise ConfigurationError(f"GYMNASIUM_ENV_TIME_LIMIT={text!r} must be 1 or 0.")
    return text.lower() in ("1", "true")
