"""Drives CartPole-v1 in many lanes; arguments: ``lanes``, ``kind``, and ``base_url`` for the remote one.

``kind`` is ``remote`` (``make_vec`` of this project), ``async`` or ``sync`` (Gymnasium's own) or ``envpool``.
"""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium
import numpy as np

from benchmarks.drivers.driving import Driver, drive


class CartPoleDriver(Driver):
    """A vector environment of any make. Episodes end and are reset by it, in NEXT_STEP."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.lanes = arguments["lanes"]
        self._env = _make(arguments["kind"], self.lanes, arguments.get("base_url"))
        if arguments["kind"] == "envpool":
            self._env.reset()
        else:
            self._env.reset(seed=0)
        drawn = np.random.default_rng(0).integers(0, 2, (64, self.lanes))
        self._actions = [np.asarray(row, np.int64) for row in drawn]
        self._next = 0

    def step(self) -> None:
        """Steps every lane once."""
        self._next = (self._next + 1) % len(self._actions)
        self._env.step(self._actions[self._next])

    def kept(self) -> int:
        """Poles that are where poles can be: their counts are not told."""
        self.step()
        observations = self._env.step(self._actions[0])[0]
        return int(np.sum(np.isfinite(observations).all(axis=1) & (np.abs(observations[:, 0]) < 5)))

    def close(self) -> None:
        """Ends the environments."""
        self._env.close()


def _make(kind: str, lanes: int, base_url: str | None) -> Any:
    if kind == "remote":
        import openenv_gym  # noqa: F401  (it registers the id)

        return gymnasium.make_vec("openenv/CartPole-v1", num_envs=lanes, base_url=base_url)
    if kind == "envpool":
        return importlib.import_module("envpool").make("CartPole-v1", env_type="gymnasium", num_envs=lanes)
    return gymnasium.make_vec("CartPole-v1", num_envs=lanes, vectorization_mode=kind)


if __name__ == "__main__":
    drive(CartPoleDriver)
