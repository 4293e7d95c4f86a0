"""What a vector environment remembers of one lane."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.utils import seeding
from openenv_gym_protocol.autoreset import AutoresetMode, EpisodeRules

from openenv_gym.bridge.rows import RowReader


class LaneState:
    """One lane's rules, generator and last observation.

    Attributes:
        rules: When it resets and when its episode is cut off.
        reader: Reads its replies.
        observation: The last one.
    """

    def __init__(self, mode: AutoresetMode, max_steps: int | None) -> None:
        self.rules = EpisodeRules(mode, max_steps)
        self.reader = RowReader()
        self.observation: Any = None
        self._generator: np.random.Generator | None = None
        self._seed: int | None = None

    def seed(self, seed: int | None) -> None:
        """Starts the generator anew; None leaves it as it is."""
        if seed is not None:
            self._generator, self._seed = seeding.np_random(seed)

    @property
    def generator(self) -> np.random.Generator:
        """The lane's generator, as ``RemoteEnv.np_random`` is a single environment's."""
        if self._generator is None:
            self._generator, self._seed = seeding.np_random()
        return self._generator

    @property
    def np_random_seed(self) -> int:
        """The seed of the generator."""
        _ = self.generator
        assert self._seed is not None  # set together with the generator
        return self._seed
