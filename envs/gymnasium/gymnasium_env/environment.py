"""A Gymnasium environment as a session of a server."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import uuid4

from gymnasium import Env
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import OrderEnforcing
from openenv_gym_protocol.bodies import Metadata
from openenv_gym_server.environment import Environment

from gymnasium_env.infos import InfoWriter
from gymnasium_env.libraries import GRAPHICS_LINE, choose_graphics, draws_with_mujoco, needs
from gymnasium_env.models import GymnasiumAction, GymnasiumObservation, GymnasiumState
from gymnasium_env.recipe import Recipe

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Episode:
    """What changes with every step; beside the environment, whose attributes may be Gymnasium's."""

    given_id: str | None
    env: Env[Any, Any]
    step: Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]
    step_count: int = 0
    terminated: bool = False
    truncated: bool = False

    @property
    def episode_id(self) -> str:
        """Its name; a random one is made when it is first asked for, which most episodes' never is."""
        self.given_id = self.given_id or str(uuid4())
        return self.given_id


class GymnasiumEnvironment(Environment[GymnasiumAction, GymnasiumObservation, GymnasiumState]):
    """One environment that is built when it is first reset, and again only when its keywords change.

    Its random numbers are the environment's own: the same seed and actions give what they give without a server,
    and an unseeded reset goes on in the same stream, after a rebuilding too.

    ``gymnasium_env.serving.served`` makes the class for one id: with its recipe, its spaces and the arguments of its
    reset.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    seeded_stream = True
    recipe: ClassVar[Recipe]
    observation_class: ClassVar[type[GymnasiumObservation]]
    number_class: ClassVar[type[Any]] = int
    """Of a Discrete's actions, as that samples them: its ``contains`` takes twice as long for an int of Python's."""
    start_options: ClassVar[tuple[str, ...]] = ()
    """The reset options that are the environment's own, not its constructor's."""
    render_fps: ClassVar[int] = 30
    """Pictures a second."""

    def __init__(self) -> None:
        super().__init__()
        self._env: Env[Any, Any] | None = None
        self._keywords: dict[str, Any] = {}
        self._infos = InfoWriter()
        self._episode: _Episode | None = None

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> GymnasiumObservation:
        """Starts an episode.

        Args:
            seed: Starts the random numbers anew; without one they go on.
            episode_id: The episode's name; by default a random one.
            **options: The constructor's keywords, and numbers for the environment's own reset. What is left out has
                its default.

        Raises:
            ValueError: A keyword would change the spaces, or the environment refuses it.
        """
        value, metadata = self.reset_values(seed, episode_id, **options)
        return self.observation_class(observation=value, metadata=metadata)

    def reset_values(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode without the models: does what ``reset`` does, with the same arguments.

        Returns:
            The value of the observation space and the info.

        Raises:
            ValueError: As ``reset``.
        """
        start = {name: options[name] for name in self.start_options if options.get(name) is not None}
        env = self._built({name: options.get(name, value) for name, value in self.recipe.defaults.items()})
        value, info = env.reset(seed=seed, options=start or None)
        self._episode = _Episode(episode_id, env, _stepping(env).step)
        return value, self._infos.plain(info) if info else {}

    def step(self, action: GymnasiumAction, timeout_s: float | None = None, **options: Any) -> GymnasiumObservation:
        """Takes a step.

        An episode that terminates and is cut off in the same step counts as terminated where only one can be told.

        Raises:
            RuntimeError: There was no reset yet.
        """
        value, reward, terminated, truncated, metadata = self.step_values(action.action)
        if truncated:
            metadata["truncated"] = True
        return self.observation_class(observation=value, reward=reward, done=terminated or truncated, metadata=metadata)

    def step_values(self, action: Any) -> tuple[Any, float | None, bool, bool, dict[str, Any]]:
        """Takes a step without the models: the action is a value of the action space.

        Returns:
            The value of the observation space, the reward, terminated, truncated and the info, as ``step`` says them.

        Raises:
            RuntimeError: There was no reset yet.
        """
        episode = self._episode or self._played
        if type(action) is int:
            action = self.number_class(action)
        value, reward, terminated, truncated, info = episode.step(action)
        episode.step_count += 1
        episode.terminated = ended = bool(terminated)
        episode.truncated = cut = bool(truncated)
        metadata = self._infos.plain(info) if info else {}
        return value, None if reward is None else float(reward), ended, cut and not ended, metadata

    @property
    def terminated(self) -> bool:
        """The last step ended the episode."""
        return self._episode is not None and self._episode.terminated

    @property
    def truncated(self) -> bool:
        """The last step cut the episode off. Only an id with a time limit of the server's, or of its own, does."""
        return self._episode is not None and self._episode.truncated

    @property
    def state(self) -> GymnasiumState:
        """Where the episode stands."""
        episode = self._episode
        return GymnasiumState(
            episode_id=None if episode is None else episode.episode_id,
            step_count=0 if episode is None else episode.step_count,
            env_id=self.recipe.spec.id,
            keywords=self._keywords,
            terminated=self.terminated,
            truncated=self.truncated,
        )

    def render(self, mode: str | None = None) -> Any:
        """Pictures the present state.

        Args:
            mode: One of ``render_modes``; by default the first.

        Returns:
            For ``rgb_array`` an array of uint8 of shape ``(height, width, 3)``, for ``ansi`` a text.

        Raises:
            ValueError: The environment has no such mode.
            RuntimeError: There was no reset yet, or a library that draws is missing.
        """
        mode = mode or next(iter(self.render_modes), None)
        if mode not in self.render_modes:
            raise ValueError(f"{self.recipe.spec.id} has no render mode {mode!r}; it has {list(self.render_modes)}.")
        env = self._played.env
        choose_graphics()
        # Which mode is wanted is not known when the environment is built, and it draws nothing before it is asked.
        before, env.unwrapped.render_mode = env.unwrapped.render_mode, mode
        try:
            return env.render()
        except DependencyNotInstalled as error:
            raise RuntimeError(needs(error)) from error
        except (AttributeError, ImportError, RuntimeError) as error:
            if not draws_with_mujoco(env.unwrapped):
                raise
            raise RuntimeError(f"MuJoCo cannot draw here ({error}). On Debian: {GRAPHICS_LINE}") from error
        finally:
            env.unwrapped.render_mode = before

    def __getattr__(self, name: str) -> Any:
        """Reads an attribute of Gymnasium's environment, if it is one of ``remote_names``.

        Before the first reset it is that of an environment with the defaults.
        """
        if name not in type(self).remote_names:
            raise AttributeError(f"{name!r} is none of the names that can be read: {list(type(self).remote_names)}.")
        return getattr(self._readable.unwrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a number or flag of Gymnasium's environment, if it is one of ``remote_names``.

        It holds until the environment is built anew.
        """
        if name not in type(self).remote_names:
            super().__setattr__(name, value)
            return
        old = getattr(self, name)
        if not isinstance(old, int | float) or not _is_like(value, old):
            raise TypeError(f"{name} is {old!r}; it cannot become {value!r}.")
        setattr(self._readable.unwrapped, name, value)

    def close(self) -> None:
        """Closes the environment."""
        if self._env is not None:
            self._env.close()

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        return Metadata(name=self.recipe.spec.id, description=f"Gymnasium's {self.recipe.spec.id}", version="0.1.0")

    @property
    def _played(self) -> _Episode:
        if self._episode is None:
            raise RuntimeError("No episode is being played: reset first.")
        return self._episode

    @property
    def _readable(self) -> Env[Any, Any]:
        return self._built(dict(self.recipe.defaults)) if self._env is None else self._env

    def _built(self, keywords: dict[str, Any]) -> Env[Any, Any]:
        """The environment with some keywords; a failure leaves the old one as it is."""
        old = self._env
        if old is not None and keywords == self._keywords:
            return old
        new = self.recipe.build(keywords)
        if old is not None:
            new.unwrapped.np_random = old.unwrapped.np_random
            old.close()
        self._env, self._keywords, self._episode = new, keywords, None
        return new


def _stepping(env: Env[Any, Any]) -> Env[Any, Any]:
    """What is left of an environment without Gymnasium's check that it was reset, which is known here."""
    while type(env) is OrderEnforcing:
        env = env.env
    return env


def _is_like(value: Any, old: float) -> bool:
    """Whether a value is a flag for a flag, or a number for a number."""
    return isinstance(value, int | float) and isinstance(value, bool) == isinstance(old, bool)
