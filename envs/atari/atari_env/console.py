"""The console: ale-py's emulator with one game in it. The only module here that loads ale-py."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError, nearest

from atari_env.settings import Settings

MAX_FRAMES = 108_000
"""The frames after which an episode is cut off: half an hour of playing, the length that the literature compares by."""


@cache
def _ale() -> Any:
    """The module ale_py, told to be silent.

    Raises:
        ConfigurationError: This interpreter does not have it.
    """
    try:
        import ale_py
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"Atari games need the module {error.name!r}, which {sys.executable} does not have: pip install ale-py, or "
            "name an interpreter that has it."
        ) from None
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py


class Console:
    """One game that is being played.

    Args:
        settings: Which game, and how.

    Attributes:
        action_meanings: The names of the actions, in the order of their numbers.
        screen_shape: The shape of a screen.

    Raises:
        ConfigurationError: There is no such game, mode or difficulty.
    """

    def __init__(self, settings: Settings) -> None:
        ale_py = _ale()
        self._settings = settings
        self._rom = _rom_of(ale_py, settings.game)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", settings.repeat_action_probability)
        self._ale.setInt("max_num_frames_per_episode", MAX_FRAMES)
        self.load(0)
        full = settings.full_action_space
        self._actions = list(self._ale.getLegalActionSet() if full else self._ale.getMinimalActionSet())
        self.action_meanings = [action.name for action in self._actions]
        read = {
            "rgb": self._ale.getScreenRGB,
            "grayscale": self._ale.getScreenGrayscale,
            "ram": self._ale.getRAM,
        }
        self._read = read[settings.obs_type]
        self.screen_shape: tuple[int, ...] = self.screen().shape

    def load(self, seed: int) -> None:
        """Loads the game anew, which alone starts its random numbers.

        Args:
            seed: Any 32 bits, as a signed integer.

        Raises:
            ConfigurationError: The game has not the mode or difficulty of the settings.
        """
        self._ale.setInt("random_seed", seed)
        self._ale.loadROM(self._rom)
        self._choose("mode", self._settings.mode, self._ale.getAvailableModes(), self._ale.setMode)
        self._choose(
            "difficulty", self._settings.difficulty, self._ale.getAvailableDifficulties(), self._ale.setDifficulty
        )

    def start(self) -> None:
        """Presses the console's reset switch; its random numbers go on."""
        self._ale.reset_game()

    def act(self, action: int) -> float:
        """Holds the joystick for one frame.

        Args:
            action: The action's number.

        Returns:
            The points that the frame brought.
        """
        return float(self._ale.act(self._actions[action]))

    def screen(self) -> NDArray[np.uint8]:
        """A new array of what the settings' ``obs_type`` says."""
        return np.asarray(self._read(), np.uint8)

    def picture(self) -> NDArray[np.uint8]:
        """The screen in colours, of shape ``(210, 160, 3)`` in most games."""
        return np.asarray(self._ale.getScreenRGB(), np.uint8)

    @property
    def is_over(self) -> bool:
        """The game is over."""
        return bool(self._ale.game_over(with_truncation=False))

    @property
    def is_cut_off(self) -> bool:
        """The episode has had all of its frames."""
        return bool(self._ale.game_truncated())

    @property
    def counters(self) -> dict[str, int]:
        """The lives, the episode's frames, and those since the game was loaded."""
        ale = self._ale
        return {
            "lives": ale.lives(),
            "episode_frame_number": ale.getEpisodeFrameNumber(),
            "frame_number": ale.getFrameNumber(),
        }

    @property
    def lives(self) -> int:
        """The lives that are left; 0 in games without."""
        return int(self._ale.lives())

    def _choose(self, name: str, value: int | None, known: list[int], choose: Any) -> None:
        if value is None:
            return
        if value not in known:
            close = min(known, key=lambda each: abs(each - value))
            raise ConfigurationError(
                f"{self._settings.game} has no {name} {value} (ATARI_{name.upper()}). The nearest is {close}; it has "
                f"{', '.join(map(str, sorted(known)))}."
            )
        choose(value)


def _rom_of(ale_py: Any, game: str) -> Any:
    known = ale_py.roms.get_all_rom_ids()
    if game not in known:
        raise ConfigurationError(f"There is no Atari game {game!r} (ATARI_GAME). {nearest(game, known)}")
    return ale_py.roms.get_rom_path(game)
