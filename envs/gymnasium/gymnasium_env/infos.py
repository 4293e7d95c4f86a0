"""Gymnasium's infos as metadata, which is JSON."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from openenv_gym_protocol.metadata import EPISODE_KEYS

logger = logging.getLogger(__name__)


_SCALARS = (bool, int, float, str, np.bool_, np.number)
"""A tuple: to put a union of six together would take longer than to ask for it."""


class InfoWriter:
    """Writes the infos of one session; what JSON has no form for is left out, and logged once a key."""

    def __init__(self) -> None:
        self._left_out: set[str] = set()

    def plain(self, info: Mapping[Any, Any]) -> dict[str, Any]:
        """An info without what JSON cannot carry."""
        metadata = {}
        for key, value in info.items():
            if not _is_plain(value):
                self._leave_out(str(key), value)
            elif isinstance(key, str):
                # Of metadata those keys say something of the episode.
                metadata[f"info.{key}" if key in EPISODE_KEYS else key] = value
            else:
                self._leave_out(repr(key), value)
        return metadata

    def _leave_out(self, key: str, value: Any) -> None:
        if key not in self._left_out:
            self._left_out.add(key)
            logger.warning("info[%s], a %s, has no form as JSON and is left out", key, type(value).__qualname__)


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, _SCALARS):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufU"
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return isinstance(value, list | tuple) and all(map(_is_plain, value))
