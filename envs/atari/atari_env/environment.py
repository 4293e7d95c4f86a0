"""An Atari game as a session of a server."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.bodies import Metadata
from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_server.environment import Environment, truncated
from pydantic import Field

from atari_env.console import Console
from atari_env.models import AtariAction, AtariObservation, AtariState
from atari_env.pictures import scaled
from atari_env.settings import Settings

Screen = NDArray[np.uint8]

_OPENENVS_DEFAULTS = {"game_name": "pong", "obs_type": "rgb", "full_action_space": False}
"""What openenv's client sends with every action, whichever game is served."""

_SETTINGS = {"game_name": "game"}
"""The settings that have other names than the action's fields."""


class AtariEnvironment(Environment[AtariAction, AtariObservation, AtariState]):
    """A game of the Atari 2600. The reward of a step is the points that its frames brought.

    The same seed and actions give the same episode, and the one that Gymnasium's ``ALE/<Game>-v5`` plays with them. An
    unseeded reset goes on in the random numbers of the last seeded one.

    ``atari_env.serving.served`` makes the class for one server: with its settings, spaces and models.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # a seeded reset loads the game anew, which takes a tenth of a second
    seeded_stream = True
    info_keys: ClassVar[list[str] | None] = ["episode_frame_number", "frame_number", "lives"]
    render_modes: ClassVar[Sequence[str]] = ("rgb_array",)
    render_fps: ClassVar[float | None] = 15
    remote_names: ClassVar[Sequence[str]] = ("get_action_meanings",)

    settings: ClassVar[Settings] = Settings()
    screen_shape: ClassVar[Sequence[int]] = (210, 160, 3)
    observation_class: ClassVar[type[AtariObservation]] = AtariObservation

    def __init__(self) -> None:
        super().__init__()
        settings = self.settings
        self._console = Console(settings)
        self._legal = list(range(len(self._console.action_meanings)))
        self._stack: deque[Screen] = deque(maxlen=settings.frame_stack or 1)
        self._random: np.random.Generator | None = None
        self._is_life_an_episode = False
        self._is_playing = False
        self._episode_id: str | None = None
        self._step_count = 0

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        noop_max: Annotated[int, Field(ge=0, le=100)] = 0,
        terminal_on_life_loss: bool = False,
        **options: Any,
    ) -> AtariObservation:
        """Starts a game.

        Args:
            seed: Starts the random numbers anew, the console's too; without one they go on, or start from entropy the
                first time.
            episode_id: The episode's name; by default a random one.
            noop_max: At most so many frames, at least one, pass before the player's first move; 0: none.
            terminal_on_life_loss: Whether the episode ends with a life.
            **options: None are known; the server tells clients which there are.
        """
        if seed is not None or self._random is None:
            # As Gymnasium's Atari environments do it, so that a seed means the same game there and here.
            words = np.random.SeedSequence(seed).generate_state(2)
            self._random = np.random.default_rng(words[0])
            self._console.load(int(words[1].astype(np.int32)))
        self._console.start()
        self._idle(noop_max, self._random)
        self._is_life_an_episode, self._is_playing = terminal_on_life_loss, True
        self._episode_id, self._step_count = episode_id or str(uuid4()), 0
        self._stack.clear()
        return self._told(self._observed([self._console.screen()]), self._console.counters)

    def step(self, action: AtariAction, timeout_s: float | None = None, **options: Any) -> AtariObservation:
        """Holds the joystick for the frames of one step.

        Raises:
            InvalidAction: The action is meant for another game, or for the game served otherwise.
            RuntimeError: No episode is being played.
        """
        self._check_meant(action)
        value, reward, is_over, is_cut_off, counters = self.step_values(action.action_id)
        told = self._told(value, counters, reward=reward, done=is_over)
        return truncated(told) if is_cut_off else told

    def step_values(self, action: int) -> tuple[Screen, float | None, bool, bool, dict[str, Any]]:
        """Takes a step without the models.

        Args:
            action: The position of one of the legal actions.

        Returns:
            The observation's array, the points, terminated, truncated and the info, as ``step`` says them.

        Raises:
            RuntimeError: No episode is being played.
        """
        if not self._is_playing:
            raise RuntimeError("No episode is being played: reset first.")
        console, frames = self._console, self.settings.frameskip
        lives, reward, screens = console.lives, 0.0, []
        for frame in range(frames):
            reward += console.act(action)
            # Sprites that the console draws in every second frame alone would be missing from scaled pictures.
            if self.settings.screen_size is not None and frame == frames - 2:
                screens.append(console.screen())
        screens.append(console.screen())
        self._step_count += 1
        is_over = console.is_over or (self._is_life_an_episode and console.lives < lives)
        is_cut_off = console.is_cut_off and not is_over
        self._is_playing = not (is_over or is_cut_off)
        return self._observed(screens), reward, is_over, is_cut_off, console.counters

    def get_action_meanings(self) -> list[str]:
        """The names of the actions, in the order of their numbers."""
        return list(self._console.action_meanings)

    @property
    def state(self) -> AtariState:
        """What is played, and where the episode stands."""
        settings = self.settings
        return AtariState(
            episode_id=self._episode_id,
            step_count=self._step_count,
            game_name=settings.game,
            obs_type=settings.obs_type,
            full_action_space=settings.full_action_space,
            mode=settings.mode,
            difficulty=settings.difficulty,
            repeat_action_probability=settings.repeat_action_probability,
            frameskip=settings.frameskip,
            lives=self._console.lives,
            action_meanings=self._console.action_meanings,
        )

    def render(self, mode: str | None = None) -> Any:
        """The screen in colours, whatever is observed.

        Returns:
            An array of uint8, of shape ``(210, 160, 3)`` in most games.

        Raises:
            ValueError: The mode is not ``rgb_array``.
        """
        if mode in (None, "rgb_array"):
            return self._console.picture()
        raise ValueError(f"Atari has no render mode {mode!r}; it has {list(self.render_modes)}.")

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        return Metadata(name=f"atari {self.settings.game}", description="A game of the Atari 2600", version="0.1.0")

    def _check_meant(self, action: AtariAction) -> None:
        """Refuses a move that was meant for another game; openenv's client names its defaults where nobody did."""
        for name, default in _OPENENVS_DEFAULTS.items():
            meant, served = getattr(action, name), getattr(self.settings, _SETTINGS.get(name, name))
            if meant not in (None, default, served):
                raise InvalidAction(
                    f"{name}: the action is for {meant!r}, and this server plays {served!r}. Leave it out, or play at "
                    f"a server that was started with ATARI_{_SETTINGS.get(name, name).upper()}."
                )

    def _idle(self, noop_max: int, random: np.random.Generator) -> None:
        for _ in range(int(random.integers(1, noop_max + 1)) if noop_max else 0):
            self._console.act(0)
            if self._console.is_over:
                self._console.start()

    def _observed(self, screens: list[Screen]) -> Screen:
        """The observation of a step's last one or two screens."""
        screen = screens[-1]
        if self.settings.screen_size is not None:
            screen = scaled(screen if len(screens) == 1 else np.maximum(*screens), self.settings.screen_size)
        if self.settings.frame_stack is not None:
            self._stack.extend([screen] * (1 if self._stack else self.settings.frame_stack))
            screen = np.stack(self._stack)
        return screen if self.settings.screen == "base64" else screen.reshape(-1)

    def _told(self, screen: Screen, counters: dict[str, int], **outcome: Any) -> AtariObservation:
        told: dict[str, Any] = {"metadata": dict(counters), **counters, **outcome}
        shape = list(self.screen_shape)
        return self.observation_class(screen=screen, screen_shape=shape, legal_actions=self._legal, **told)
