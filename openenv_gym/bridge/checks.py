"""Keywords of a wrong type, refused by their names before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from openenv_gym_protocol.errors import ConfigurationError, nearest

from openenv_gym.transports.timeouts import Timeouts

_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "base_url": ((str, Sequence), "an address such as 'http://localhost:8000', or a list of them"),
    "path": ((str, os.PathLike), "the folder of an environment project"),
    "image": ((str,), "the name of an image"),
    "provider": ((str, Mapping), "a provider's name such as 'process', or a dict of its options"),
    "token": ((str,), "a text such as 'env:NAME', which names the environment variable that holds it"),
    "timeouts": ((Timeouts, Mapping), "a dict of seconds such as {'step': 30}"),
    "settings": ((Mapping,), "a dict of environment variables, text to text"),
    "reset_options": ((Mapping,), "a dict of reset options"),
    "render_mode": ((str,), "the name of a render mode"),
}


def check_types(keywords: Mapping[str, Any]) -> None:
    """Refuses keywords of a wrong type; None and unknown names pass.

    Raises:
        ConfigurationError: It names the keyword and says what it should be.
    """
    for name, value in keywords.items():
        kinds, expected = _KINDS.get(name, ((object,), ""))
        is_wrong = not isinstance(value, kinds) or isinstance(value, bytes)
        if name == "base_url" and not isinstance(value, str) and not is_wrong:
            is_wrong = not all(isinstance(each, str) for each in value)
        if value is not None and is_wrong:
            raise ConfigurationError(f"{name}= must be {expected}, not {value!r:.80}.")


def check_count(name: str, value: Any, *, also: tuple[Any, ...] = ()) -> None:
    """Refuses what is no whole number of at least 1.

    Args:
        name: The keyword.
        value: Its value.
        also: What it may be besides.

    Raises:
        ConfigurationError: It names the keyword and says what it should be.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        if any(value is each or value == each for each in also):
            return
        besides = "".join(f" or {each}" for each in also)
        raise ConfigurationError(f"{name}= must be an integer of at least 1{besides}, not {value!r:.80}.")


def check_reset_options(options: Any) -> None:
    """Refuses a reset's ``options`` that are no dict.

    Raises:
        ConfigurationError: They are something else.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ConfigurationError(f"reset(options=) must be a dict of reset options, not {options!r:.80}.")


def read_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Reads an autoreset mode: Gymnasium's enum or the value of one.

    Raises:
        ConfigurationError: It is something else; of another spelling, the right one is named.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        values = {each.name.replace("_", "").lower(): each.value for each in AutoresetMode}
        meant = values.get(re.sub(r"[\W_]", "", str(mode)).lower())
        hint = nearest(str(mode), values.values()) if meant is None else f"Did you mean {meant!r}?"
        listed = ", ".join(map(repr, values.values()))
        raise ConfigurationError(
            f"autoreset_mode must be gymnasium.vector.AutoresetMode or one of {listed}, not {mode!r}. {hint}"
        ) from None
