"""Remote environments for GEM: text in, text out, by GEM's own ``Env``.

::

    from openenv_gym.trainers.gem import register

    register("openenv:Blackjack", "openenv/Blackjack-v0")
    env = gem.make("openenv:Blackjack")
    envs = gem.make_vec(["openenv:Blackjack"] * 8, async_mode=True)
"""

from __future__ import annotations

import random
import re
from typing import Any

from gem.core import Env
from gem.envs.registration import register as register_with_gem
from openenv_gym_protocol.errors import NotOffered

from openenv_gym.bridge.interface import Interface
from openenv_gym.rollouts.text_sessions import SyncTextSession, TextResult
from openenv_gym.rollouts.texts import json_text

__all__ = ["RemoteEnv", "register"]

_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


class RemoteEnv(Env):  # type: ignore[misc]
    r"""One session of a server as an environment of GEM.

    An action is what the model wrote, or what stands in its last ``\boxed{...}``. It is read by the action's schema; a
    text that is no action is answered with one that says so, for a reward of 0.0, and its info has an ``error``. A
    failure of the environment or the connection is raised: no reward is made up for it. A session ends with its
    environment, or by ``close``.

    Args:
        environment: A Gymnasium id, or the address of a server.
        max_turns: Turns after which an episode is truncated; None for no limit but the environment's.
        reset_options: Sent with every reset.
        seed: For the first reset that has none of its own; GEM's ``make_vec`` gives each environment another one.
        **keywords: Those of ``EnvironmentSource``.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        environment: str,
        *,
        max_turns: int | None = None,
        reset_options: dict[str, Any] | None = None,
        seed: int | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__()
        self._arguments = {
            "environment": environment,
            "max_turns": max_turns,
            "reset_options": dict(reset_options or {}),
            "seed": seed,
            **keywords,
        }
        self._max_turns = max_turns
        self._session = SyncTextSession(environment, **keywords)
        self._first_seed = seed
        self._seed: int | None = None
        self._seen: list[str] = []
        self._played: list[str] = []

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: The environment's seed; without one it goes on with its own random numbers.

        Returns:
            The observation, and the environment's metadata with ``suffix``: what an action looks like.

        Raises:
            OpenEnvGymError: The environment or the connection failed.
        """
        # GEM's own reset would seed the random numbers of the whole process, of which nothing here makes use.
        seed, self._first_seed = self._first_seed if seed is None else seed, None
        result = self._session.reset(seed=seed, **self._arguments["reset_options"])
        self._seed, self._seen, self._played = seed, [result.text], []
        hint = "" if self._session.action_text is None else self._session.action_text.hint()
        return result.text, {**result.info, "suffix": hint}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes a turn.

        Args:
            action: What the model wrote.

        Returns:
            The observation; the reward, 0.0 where there was none (the info then has ``reward_missing``); whether the
            episode terminated; whether it was truncated; and the environment's metadata.

        Raises:
            OpenEnvGymError: The environment or the connection failed.
        """
        result = self._turn(_unboxed(action))
        info = dict(result.info)
        if result.reward is None:
            info["reward_missing"] = True
        is_last = self._max_turns is not None and len(self._played) >= self._max_turns
        truncated = result.truncated or (is_last and not result.terminated)
        return result.text, float(result.reward or 0.0), result.terminated, truncated, info

    def sample_random_action(self) -> str:
        """A random action of the action space, as text.

        Raises:
            NotOffered: No episode was begun, so that the space is not known.
            UnsupportedSchema: No space can be derived from the action's schema.
        """
        if self._session.schemas is None:
            raise NotOffered("The action space is known after the first reset.")
        interface = Interface(self._session.schemas)
        space = interface.action_space
        space.seed(random.getrandbits(31))  # from the random numbers that GEM seeds
        return json_text(interface.encode_action(space.sample()))

    def spawn(self, same_state: bool = False, **kwargs: Any) -> RemoteEnv:
        """Another environment of the same kind, with a session of its own.

        Args:
            same_state: Whether it is to stand where this one does. The episode is played again there, from its seed and
                by the same actions, and has to look the same at each turn.
            **kwargs: Arguments that are to be other than this one's.

        Raises:
            NotOffered: The episode was not seeded, or did not come out the same again.
            OpenEnvGymError: The environment or the connection failed.
        """
        other = type(self)(**{**self._arguments, **kwargs})
        if same_state and self._seen:
            other._follow(self._seed, self._played, self._seen)
        return other

    def close(self) -> None:
        """Ends the session. Idempotent."""
        self._session.close()

    def _turn(self, action: str) -> TextResult:
        result = self._session.step(action)
        self._played.append(action)
        self._seen.append(result.text)
        return result

    def _follow(self, seed: int | None, actions: list[str], seen: list[str]) -> None:
        if seed is None:
            raise NotOffered("same_state needs an episode that began with a seed: it is played again.")
        self.reset(seed)
        for action in actions:
            self._turn(action)
        if self._seen != seen:
            self.close()
            raise NotOffered("same_state: the episode did not come out the same again from its seed and actions.")


def register(id: str, environment: str, **keywords: Any) -> None:
    """Registers an environment with GEM; it can be made in any process that does the same.

    Args:
        id: The id, for ``gem.make``.
        environment: A Gymnasium id, or the address of a server.
        **keywords: Those of ``RemoteEnv``.
    """
    register_with_gem(id, f"{__name__}:RemoteEnv", environment=environment, **keywords)


def _unboxed(text: str) -> str:
    boxed = _BOXED.findall(text)
    return str(boxed[-1]) if boxed else text
