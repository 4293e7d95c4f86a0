"""Remote environments for TRL's ``GRPOTrainer``: ``environment_factory=`` gets a factory of classes made here.

::

    from openenv_gym.trainers.trl import environment_factory

    trainer = GRPOTrainer(
        model=...,
        train_dataset=...,  # its column "seed" seeds the resets: one seed for each group
        environment_factory=environment_factory("openenv/Blackjack-v0", no_reward=-1.0),
    )

An environment of tools gives its tools, any other one gives a single tool that acts. Nothing of TRL is imported.
"""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import ConfigurationError, nearest

from openenv_gym.mcp_client import MCPToolClient
from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.images import Image
from openenv_gym.rollouts.sources import EnvironmentSource, source_of
from openenv_gym.rollouts.tool_classes import ToolSpec, action_tool, tool_class
from openenv_gym.rollouts.tool_environments import FirstObservations, ToolEnvironment

__all__ = ["EnvironmentFactory", "Reward", "environment_factory"]

Reward: TypeAlias = Literal["sum", "last"] | Callable[[Episode], float | None] | None
"""What a rollout gets: the sum of its steps' rewards, the last of them, what a function makes of its episode, or
nothing where ``reward_funcs`` see to it."""


def environment_factory(environment: str | EnvironmentSource, **keywords: Any) -> EnvironmentFactory:
    """A factory for ``environment_factory=`` of TRL's trainers.

    Args:
        environment: A Gymnasium id, the address of a server, or a source.
        **keywords: Those of ``EnvironmentFactory``, and of ``EnvironmentSource`` where ``environment`` is not one.

    Raises:
        ConfigurationError: An argument cannot be used.
    """
    return EnvironmentFactory(environment, **keywords)


class EnvironmentFactory:
    """Makes environments, each with a session of its own; at the first call, the server is asked for its tools.

    TRL keeps what it gets and resets it often, and closes nothing: a session ends with its environment, with this
    process, or by ``close``. A rollout in which the environment or the connection failed has no reward, so that TRL
    leaves it out.

    Args:
        environment: A Gymnasium id, the address of a server, or a source.
        tools: The names of the tools to offer; None for all. Of an environment without tools, None.
        action: What the tool of an environment without tools is called.
        reward: See ``Reward``. None leaves ``get_reward`` out of the class.
        no_reward: What a rollout gets that did not fail and had no reward at all, because the model called nothing, for
            one; None leaves it out.
        columns: The dataset's columns that are reset options; ``seed`` always seeds the reset.
        max_steps: Steps after which an episode is over; None: the id's own limit, if it has one.
        name: The class's name, under which TRL logs the reward.
        **keywords: Those of ``EnvironmentSource``.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        environment: str | EnvironmentSource,
        *,
        tools: Sequence[str] | None = None,
        action: str = "step",
        reward: Reward = "sum",
        no_reward: float | None = None,
        columns: Sequence[str] = (),
        max_steps: int | None = None,
        name: str = "RemoteEnvironment",
        **keywords: Any,
    ) -> None:
        if isinstance(reward, str) and reward not in ("sum", "last"):
            raise ConfigurationError(
                f"reward must be 'sum', 'last', a function of the episode or None, not {reward!r}."
            )
        self._source, _ = source_of(environment, keywords)
        self._tools = None if tools is None else tuple(tools)
        self._action = action
        self._reward = reward
        self._no_reward = no_reward
        self._columns = tuple(columns)
        self._max_steps = self._source.max_steps if max_steps is None else max_steps
        self._name = name
        self._firsts = FirstObservations()
        self._lock = threading.Lock()
        self._class: type[Any] | None = None
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def environment_class(self) -> type[Any]:
        """The class of the environments.

        Raises:
            ConfigurationError: ``tools`` names one that there is not.
            OpenEnvGymError: The server cannot be started or asked.
        """
        with self._lock:
            if self._class is None:
                self._class = self._make_class()
            return self._class

    @property
    def environments(self) -> list[Any]:
        """What was made and is still in use."""
        return list(self._made)

    def __call__(self) -> Any:
        """Makes an environment. No session is opened before its first reset."""
        kind = self.environment_class
        made = kind(self._source, columns=self._columns, max_steps=self._max_steps, firsts=self._firsts)
        self._made.add(made)
        return made

    def close(self) -> None:
        """Ends the sessions of all environments; a reset opens another."""
        for environment in self.environments:
            environment._close()

    def _make_class(self) -> type[Any]:
        specs, is_tools = _asked(self._source)
        if not is_tools:
            if self._tools is not None:
                raise ConfigurationError(f"tools= names tools, and {self._source.name} has none: it has actions.")
            specs = [action_tool(specs[0].schema, self._action)]
        specs = _chosen(specs, self._tools)
        members: dict[str, Any] = {"reset": _reset}
        if self._reward is not None:
            members["get_reward"] = _reward_function(self._reward, self._no_reward)
        base = type(self._name, (ToolEnvironment,), members)
        call = _call_tool if is_tools else _act
        return tool_class(specs, call, name=self._name, base=base, doc=f"A session of {self._source.name}.")


def _asked(source: EnvironmentSource) -> tuple[list[ToolSpec], bool]:
    """The tools of an environment, or its action in the place of one, and which of the two it is."""
    with source.client(MCPToolClient).sync() as client:
        schemas: Schemas = client.schema()
        names = schemas.action.get("properties", {})
        if {"tool_name", "arguments"} <= names.keys() or schemas.action.get("title") == "Action":
            return [ToolSpec.of(tool) for tool in client.list_tools()], True
        return [ToolSpec("action", schema=schemas.action)], False


def _chosen(specs: list[ToolSpec], names: tuple[str, ...] | None) -> list[ToolSpec]:
    if names is None:
        return specs
    known = {spec.name: spec for spec in specs}
    for name in names:
        if name not in known:
            raise ConfigurationError(f"tools: the environment has no tool {name!r}. {nearest(name, known)}")
    return [known[name] for name in names]


def _reset(self: ToolEnvironment, **row: Any) -> str | list[dict[str, Any]]:
    """Starts an episode; its first observation follows the prompt."""
    text, images = self._begin(row)
    return _blocks(f"\n\n{text}", images)


def _call_tool(self: ToolEnvironment, name: str, arguments: Mapping[str, Any]) -> str | list[dict[str, Any]]:
    return _blocks(*self._step({"type": "call_tool", "tool_name": name, "arguments": dict(arguments)}))


def _act(self: ToolEnvironment, name: str, arguments: Mapping[str, Any]) -> str | list[dict[str, Any]]:  # noqa: ARG001
    return _blocks(*self._step(dict(arguments)))


def _reward_function(reward: Reward, no_reward: float | None) -> Callable[[Any], float | None]:
    def get_reward(self: ToolEnvironment) -> float | None:
        """The rollout's reward; None where it failed."""
        episode = self._episode
        if episode.failure is not None:
            return None
        if callable(reward):
            found = reward(episode)
        else:
            rewards = [step.reward for step in episode.steps if step.reward is not None]
            found = None if not rewards else float(sum(rewards)) if reward == "sum" else float(rewards[-1])
        return no_reward if found is None else found

    return get_reward


def _blocks(text: str, images: Sequence[Image]) -> str | list[dict[str, Any]]:
    if not images:
        return text
    from PIL import Image as Pillow  # only who has models that see needs it

    pictures = [{"type": "image", "image": Pillow.open(io.BytesIO(each.data)).convert("RGB")} for each in images]
    return [{"type": "text", "text": text}, *pictures]
