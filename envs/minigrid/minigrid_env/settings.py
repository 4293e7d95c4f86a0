"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from openenv_gym_protocol.errors import ConfigurationError, nearest

DEFAULT_ID = "MiniGrid-Empty-5x5-v0"

View = Literal["dict", "image", "rgb"]
"""What an observation is: everything, the cells ahead as numbers, or the same as pixels."""

_ID = re.compile(r"(?:MiniGrid|BabyAI)-[\w.-]+")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The grid that is served.

    Attributes:
        env_id: One of the ids that minigrid registers.
        observation: What an observation is.
    """

    env_id: str = DEFAULT_ID
    observation: View = "dict"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``MINIGRID_ENV_ID`` and ``MINIGRID_OBSERVATION``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        env_id = _text(read, "MINIGRID_ENV_ID") or DEFAULT_ID
        if not _ID.fullmatch(env_id):
            raise ConfigurationError(f"MINIGRID_ENV_ID={env_id!r} is none of minigrid's: MiniGrid-... or BabyAI-....")
        observation = (_text(read, "MINIGRID_OBSERVATION") or "dict").lower()
        if observation not in get_args(View):
            raise ConfigurationError(
                f"MINIGRID_OBSERVATION={observation!r} is no view. {nearest(observation, get_args(View))}"
            )
        return cls(env_id=env_id, observation=cast(View, observation))


def _text(read: Mapping[str, str], name: str) -> str:
    """A setting's text; keywords of ``gymnasium.make`` arrive as JSON, in quotation marks."""
    text = read.get(name, "")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
