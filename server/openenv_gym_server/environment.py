"""The class that environment authors derive from.

Its methods and attributes are openenv's, so that porting an environment means changing the import. The server
never asks whether an environment derives from this class: any object with the same methods is served.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from openenv_gym_protocol.bodies import Metadata
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BaseModel

from openenv_gym_server.rewards.applying import apply_rubric, apply_rubric_async, reset_rubric, reset_rubric_async

ActT = TypeVar("ActT", bound=BaseModel)
ObsT = TypeVar("ObsT", bound=BaseModel)
StateT = TypeVar("StateT", bound=BaseModel)

Execution = Literal["thread", "inline", "async"]
"""Where an environment's code runs.

``thread``: one thread a session; whatever blocks, blocks that session alone. ``inline``: on the server's own
event loop, for environments whose steps take microseconds. ``async``: on one event loop that all async sessions
share, in a thread of its own.
"""


class Transform(Protocol):
    """Changes an observation before it is returned."""

    def __call__(self, observation: Any) -> Any:
        """Returns the changed observation."""


class Environment(ABC, Generic[ActT, ObsT, StateT]):
    """One episode at a time, driven by one client.

    The constructor, reset, step, state and close of one instance all run in the same thread. Write reset and step
    as plain functions, or as coroutine functions (or override ``reset_async`` and ``step_async``) for an
    environment that awaits.

    An environment whose spaces are exact may have ``step_values(action)`` besides: a plain function that does what
    ``step`` does and says the same, without the models. It takes a value of the action space and returns a tuple: the
    value of the observation space, the reward as a float (or None), terminated, truncated and the info, a dict
    without keys that tell of the episode's end. The vector wire steps by it where it is there, which saves making and
    checking two models a step. With it there may be ``reset_values``, a plain function that takes what ``reset`` takes
    and returns the value and the info. A subclass that has another ``step`` or ``reset`` is stepped or reset by that.

    Args:
        transform: Applied by ``_apply_transform``.
        rubric: Asked for rewards by ``_apply_rubric``.
    """

    SUPPORTS_CONCURRENT_SESSIONS: ClassVar[bool] = False
    """Several instances may live in one process. Without it, a server holds one session."""

    REQUIRES_SINGLE_THREAD_EXECUTOR: ClassVar[bool] = False
    """All instances must live in the same thread."""

    execution: ClassVar[Execution | None] = None
    """Where the code runs; None means async when a method is a coroutine function, else thread."""

    seeded_stream: ClassVar[bool | None] = None
    """After a seeded reset, unseeded ones continue the environment's own random stream. None: not said."""

    seed_supported: ClassVar[bool | None] = None
    """A seed determines the episode. None: not said."""

    spaces: ClassVar[dict[str, Any] | None] = None
    """The exact Gymnasium spaces as data, ``{"action": ..., "observation": ...}``; None: derived from the models."""

    info_keys: ClassVar[list[str] | None] = None
    """The metadata keys that every reset and step sets."""

    remote_names: ClassVar[Sequence[str]] = ()
    """The methods and attributes that clients of the vector wire may call, read and set; none by default."""

    settable_names: ClassVar[Sequence[str] | None] = None
    """Those of ``remote_names`` that clients may set; None: all."""

    render_modes: ClassVar[Sequence[str]] = ()
    """What ``render`` can give: ``rgb_array``, ``ansi``; nothing by default."""

    render_fps: ClassVar[float | None] = None
    """Pictures a second; None: not said."""

    allow_nonfinite_reward: ClassVar[bool] = False
    """NaN and infinite rewards are sent (as null, since JSON has none) instead of failing the step."""

    def __init__(self, transform: Transform | None = None, rubric: Any = None) -> None:
        self.transform = transform
        self.rubric = rubric

    @abstractmethod
    def reset(self, *args: Any, **options: Any) -> ObsT | Awaitable[ObsT]:
        """Starts an episode.

        Declare it with the parameters that the environment takes: ``seed: int | None = None``, ``episode_id:
        str | None = None`` and its own options, with types. Clients see them in ``/schema``, wrong values are
        refused, and keys that it does not take never reach it.
        """

    @abstractmethod
    def step(self, action: ActT, *args: Any, **options: Any) -> ObsT | Awaitable[ObsT]:
        """Takes one action, which has been validated.

        Declare ``timeout_s: float | None = None`` to learn what the client allows, in seconds, where its transport
        can say it.
        """

    async def reset_async(self, *args: Any, **options: Any) -> ObsT:
        """The awaiting form of reset; overriding it makes the environment an async one."""
        observation: ObsT = await _settled(self.reset(*args, **options))
        return observation

    async def step_async(self, action: ActT, *args: Any, **options: Any) -> ObsT:
        """The awaiting form of step; overriding it makes the environment an async one."""
        observation: ObsT = await _settled(self.step(action, *args, **options))
        return observation

    @property
    @abstractmethod
    def state(self) -> StateT:
        """Where the episode stands."""

    def render(self, mode: str) -> Any:
        """Pictures where the episode stands, on the vector wire.

        Args:
            mode: One of ``render_modes``.

        Returns:
            For ``rgb_array`` an array of pixels, for ``ansi`` a text.
        """
        raise NotImplementedError(f"{type(self).__name__} renders nothing.")

    def close(self) -> None:
        """Releases what the environment holds. Called once, in the environment's own thread."""

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says of the environment."""
        return default_metadata(type(self))

    def _apply_transform(self, observation: ObsT) -> ObsT:
        transformed: ObsT = observation if self.transform is None else self.transform(observation)
        return transformed

    def _apply_rubric(self, action: ActT, observation: ObsT) -> float:
        """The rubric's reward for a step, 0.0 without one; what it is made of goes into the observation's metadata.

        Raises:
            ExecutionError: The rubric awaits where there is an event loop: use ``_apply_rubric_async``.
        """
        reward: float = apply_rubric(self.rubric, action, observation)
        return reward

    async def _apply_rubric_async(self, action: ActT, observation: ObsT) -> float:
        reward: float = await apply_rubric_async(self.rubric, action, observation)
        return reward

    def _reset_rubric(self) -> None:
        reset_rubric(self.rubric)

    async def _reset_rubric_async(self) -> None:
        await reset_rubric_async(self.rubric)


def truncated(observation: ObsT) -> ObsT:
    """Marks the end of an episode by a limit that lies outside the task, such as a step limit.

    Sets ``done`` and ``metadata["truncated"]``; a Gymnasium client reads the pair as ``truncated``.
    """
    observation.done = True  # type: ignore[attr-defined]
    observation.metadata = {**observation.metadata, "truncated": True}  # type: ignore[attr-defined]
    return observation


def default_metadata(environment_class: type) -> Metadata:
    """What a server says of an environment that says nothing of itself."""
    name = environment_class.__name__
    return Metadata(name=name, description=f"{name} environment", version="1.0.0")


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


__all__ = ["Action", "Environment", "Execution", "Observation", "State", "Transform", "default_metadata", "truncated"]
