"""Policies that are models of language: messages in, a text out, which is read as an action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from openenv_gym_protocol.errors import ConfigurationError, InvalidAction

from openenv_gym.rollouts.action_texts import ActionText
from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.policies import Decision
from openenv_gym.rollouts.texts import observation_content

Message: TypeAlias = dict[str, Any]
"""``{"role": "user", "content": ...}``, as chat templates and OpenAI's API have it."""

Reply: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]
"""Takes an episode's messages so far and returns what the model says next."""


class ChatPolicy:
    """Has a conversation for each episode: observations are the user's messages, the model's replies are actions.

    A reply that is no action is answered with a message that says why, and the model is asked again. The messages of
    each turn are kept as the step's ``policy_data``.

    Args:
        reply: Asks the model.
        action: Reads its replies; an action's JSON Schema will do.
        system: The system message, if there is to be one.
        max_errors: How many replies in a row may be no action, before the episode fails with the class ``validation``.
    """

    def __init__(
        self, reply: Reply, action: ActionText | dict[str, Any], *, system: str | None = None, max_errors: int = 2
    ) -> None:
        if max_errors < 0:
            raise ConfigurationError(f"max_errors must be 0 or more, not {max_errors}.")
        self._reply = reply
        self._action = action if isinstance(action, ActionText) else ActionText(action)
        self._system = system
        self._max_errors = max_errors

    def begin(self, episode: Episode) -> _Conversation:  # noqa: ARG002  (a policy may want it)
        """The conversation of one episode."""
        messages = [] if self._system is None else [{"role": "system", "content": self._system}]
        return _Conversation(self._reply, self._action, messages, self._max_errors)


class _Conversation:
    def __init__(self, reply: Reply, action: ActionText, messages: list[Message], max_errors: int) -> None:
        self._reply = reply
        self._action = action
        self._messages = messages
        self._max_errors = max_errors

    async def __call__(self, observation: Any) -> Decision:
        begun = len(self._messages)
        self._messages.append({"role": "user", "content": observation_content(observation)})
        for left in range(self._max_errors, -1, -1):
            text = await self._reply(list(self._messages))
            self._messages.append({"role": "assistant", "content": text})
            try:
                action = self._action.parse(text)
            except InvalidAction as error:
                if not left:
                    raise
                self._messages.append({"role": "user", "content": f"Error: {error.message}"})
            else:
                return Decision(action, {"messages": self._messages[begun:]})
        raise AssertionError("The last error is raised.")
