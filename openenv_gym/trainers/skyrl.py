"""Remote environments for SkyRL: text in, text out, by skyrl-gym's ``BaseTextEnv``.

::

    from openenv_gym.trainers import skyrl

    skyrl.register("blackjack", "openenv/Blackjack-v0", max_turns=10)
    env = skyrl_gym.make("blackjack", extras={"seed": 7})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import skyrl_gym
from openenv_gym_protocol.errors import ConfigurationError
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

from openenv_gym.rollouts.text_sessions import SyncTextSession, TextResult
from openenv_gym.rollouts.texts import content_of

__all__ = ["RemoteTextEnv", "register"]


class RemoteTextEnv(BaseTextEnv):  # type: ignore[misc]
    """One session of a server as an environment of SkyRL.

    The first observation is added to the prompt. What the model writes is read by the action's schema; a text that is
    no action is answered with one that says so, for a reward of 0.0, and its metadata has an ``error``. A failure of
    the environment or the connection is raised: no reward is made up for it.

    Args:
        env_config: SkyRL's configuration of the environment; what it names of ``environment`` and ``max_turns`` goes
            before the keywords.
        extras: The dataset's row: ``seed``, ``reset_options`` and ``max_turns`` are used, where it has them.
        environment: A Gymnasium id, or the address of a server.
        max_turns: Turns after which an episode ends; None for no limit but the environment's.
        **keywords: Those of ``EnvironmentSource``.

    Raises:
        ConfigurationError: No environment is named.
    """

    def __init__(
        self,
        env_config: Mapping[str, Any] | None = None,
        extras: Mapping[str, Any] | None = None,
        *,
        environment: str | None = None,
        max_turns: int | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__()
        config, row = dict(env_config or {}), dict(extras or {})
        named = config.get("environment", environment)
        if not isinstance(named, str):
            raise ConfigurationError("environment= must be a Gymnasium id or the address of a server.")
        turns = row.get("max_turns", config.get("max_turns", max_turns))
        self.max_turns = None if turns is None else int(turns)
        self._seed = row.get("seed")
        self._reset_options = dict(row.get("reset_options") or {})
        self._session = SyncTextSession(named, **keywords)
        self._counts = {"steps": 0, "refused": 0}
        self._rewards: list[float] = []

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Starts an episode.

        Args:
            prompt: The messages that the model is to get first.

        Returns:
            The prompt with the first observation, as the user's message or at the end of it, and the environment's
            metadata.

        Raises:
            OpenEnvGymError: The environment or the connection failed.
        """
        result = self._session.reset(seed=self._seed, **self._reset_options)
        self.turns, self._counts, self._rewards = 0, {"steps": 0, "refused": 0}, []
        return _with_observation(prompt, result), dict(result.info)

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Takes a turn.

        Args:
            action: What the model wrote.

        Returns:
            The observation as the user's message, none at the end of the episode; the reward, 0.0 where there was none
            (the metadata then has ``reward_missing``); whether the episode is over; and the metadata, which has
            ``terminated``, ``truncated`` and, at the end, ``final_observation``.

        Raises:
            OpenEnvGymError: The environment or the connection failed.
        """
        self.turns += 1
        result = self._session.step(action)
        self._counts["refused" if result.refused else "steps"] += 1
        if result.reward is not None:
            self._rewards.append(float(result.reward))
        is_last_turn = self.max_turns is not None and self.turns >= self.max_turns
        truncated = result.truncated or (is_last_turn and not result.terminated)
        metadata = {**result.info, "terminated": result.terminated, "truncated": truncated}
        if result.reward is None:
            metadata["reward_missing"] = True
        done = result.terminated or truncated
        if done:
            metadata["final_observation"] = result.text
        return BaseTextEnvStepOutput(
            observations=[] if done else [{"role": "user", "content": content_of(result.text, result.images)}],
            reward=result.reward or 0.0,
            done=done,
            metadata=metadata,
            postprocessed_action=None,
        )

    def get_metrics(self) -> dict[str, Any]:
        """The episode's turns, its steps, the refused actions among its turns, and the sum of its rewards."""
        return {"turns": self.turns, **self._counts, "total_reward": float(sum(self._rewards))}

    def close(self) -> None:
        """Ends the session. Idempotent; an environment that is forgotten without it ends its session too."""
        self._session.close()


def register(id: str, environment: str, **keywords: Any) -> None:
    """Registers an environment under a name of SkyRL's registry; it can be made in any process that does the same.

    Args:
        id: The name, for ``skyrl_gym.make`` and for the dataset's ``env_class`` column.
        environment: A Gymnasium id, or the address of a server.
        **keywords: Those of ``RemoteTextEnv``.
    """
    skyrl_gym.register(id=id, entry_point=f"{__name__}:RemoteTextEnv", kwargs={"environment": environment, **keywords})


def _with_observation(prompt: ConversationType, result: TextResult) -> ConversationType:
    messages = [dict(message) for message in prompt]
    last = messages[-1] if messages else {}
    # Chat templates want turns: two messages of the user's in a row are refused by some.
    if last.get("role") == "user" and isinstance(last.get("content"), str) and not result.images:
        last["content"] = f"{last['content']}\n\n{result.text}"
        return messages
    return [*messages, {"role": "user", "content": content_of(result.text, result.images)}]
