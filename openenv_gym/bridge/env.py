"""An environment somewhere else, as a ``gymnasium.Env``."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import gymnasium
from gymnasium.error import ResetNeeded
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import ClientClosed, InvalidMessage, OpenEnvGymError
from openenv_gym_protocol.messages import StateReply, StateRequest
from openenv_gym_protocol.vector import frames

from openenv_gym.bridge.attributes import LaneAttributes, warn_of_no_render_mode
from openenv_gym.bridge.columns import plain
from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.guard import one_at_a_time
from openenv_gym.bridge.lane_state import LaneState
from openenv_gym.bridge.lanes.answers import Answer, Ask
from openenv_gym.bridge.lanes.group import Episodes, LaneGroup
from openenv_gym.bridge.lanes.lanes import Lanes
from openenv_gym.bridge.lanes.standard import StandardGroup
from openenv_gym.bridge.lanes.vector import VectorGroup
from openenv_gym.bridge.rows import Row
from openenv_gym.bridge.schema.derived import View
from openenv_gym.bridge.seeds import checked_seed
from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.setup import Keywords, Setup
from openenv_gym.bridge.travel import Travels
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.timeouts import Timeouts

_T = TypeVar("_T")


class RemoteEnv(Travels, gymnasium.Env[Any, Any]):
    """One session of an environment server.

    It connects at the first ``reset``. ``base_url``, ``path`` or ``image`` says where the environment is.

    It takes one call at a time: a second thread's is refused with ``ConcurrentCall``, except ``close``. A call that is
    interrupted ends the session, and ``reset`` begins another.

    Args:
        base_url: A server that runs already.
        path: The folder of an environment project, served by a process of its own that is shared with everybody
            in this process tree who asks for the same.
        image: The name of an image that holds one; with ``path`` too, the image of that project.
        provider: The name of the provider that starts the server, or its options.
        token: The token of a server that runs already; ``env:NAME`` reads it from an environment variable.
        timeouts: Seconds for the phases ``start``, ``connect``, ``reset``, ``step`` and ``state``.
        spaces: ``"flat"`` for numeric trainers, ``"faithful"`` to keep text and structure, None to choose.
        settings: Environment variables of the server.
        reset_options: Sent with every reset.
        render_mode: What ``render`` gives: ``"rgb_array"`` or ``"ansi"``, where the environment has it and its server
            speaks the vector wire.
        declared: What the catalogue says of the environment; with it, construction starts nothing.
        wire: ``"vector"`` or ``"standard"``; None to take the vector wire where the server offers it.
        **options: Reset options by their names, where the environment says that it has them.

    Attributes:
        action_space: What ``step`` takes.
        observation_space: What ``reset`` and ``step`` return.

    Raises:
        UnknownOption: A keyword that nobody knows; it is a TypeError.
        ConfigurationError: Keywords that contradict each other.
        OpenEnvGymError: The server had to be asked for its spaces, and could not be.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 30}  # noqa: RUF012  (Gymnasium's declaration)
    _called: str | None = None
    """What messages call it, where that is not the class's name."""
    _more_names: Sequence[str] = ()
    """Keywords of a derived class, which messages suggest too."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        image: str | None = None,
        provider: str | Mapping[str, Any] | None = None,
        token: str | None = None,
        timeouts: Mapping[str, float | None] | Timeouts | None = None,
        spaces: View | None = None,
        settings: Mapping[str, str] | None = None,
        reset_options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        declared: Declared | None = None,
        wire: Wire | None = None,
        **options: Any,
    ) -> None:
        keywords = Keywords(
            base_url=base_url,
            path=path,
            image=image,
            provider=provider,
            token=token,
            timeouts=timeouts,
            spaces=spaces,
            settings=settings,
            reset_options=reset_options,
            render_mode=render_mode,
            declared=declared,
            wire=wire,
        )
        self._setup = Setup(self._called or type(self).__name__, keywords, options, more_names=self._more_names)
        self.metadata = {**self.metadata, **self._setup.metadata()}
        self.render_mode = self._setup.render_mode
        self.action_space = self._setup.action_space
        self.observation_space = self._setup.observation_space
        episodes = Episodes(
            autoreset=AutoresetMode.DISABLED,
            options=self._setup.reset_options,
            render_mode=self.render_mode,
            takes_either_wire=True,
        )
        self._lanes = Lanes(1, self._setup.servers, self._setup.timeouts, episodes, wire=self._setup.wire)
        self._guard = self._lanes.guard
        self._lane_state = LaneState(AutoresetMode.DISABLED, None)
        self._reader = self._lane_state.reader
        self._attributes = LaneAttributes(self._lanes, self._setup)
        # Trainers do not close: the session must not outlive the environment.
        self._finalizer = weakref.finalize(self, self._lanes.discard)

    @property
    def schema(self) -> Schemas:
        """The schemas of the server's models, from ``/schema``. Starts the server when it does not run."""
        return self._setup.interface().schemas

    @property
    def server(self) -> str | None:
        """The address of the server, once it is known."""
        server = self._lanes[0].server or self._setup.servers.known(0)
        return None if server is None else server.base_url

    @property
    def reset_options(self) -> dict[str, Any]:
        """What every reset sends besides its seed."""
        return dict(self._setup.reset_options)

    @property
    def session_id(self) -> str | None:
        """The client's name for the running session, which errors tell too; None before the first reset."""
        return self._lanes[0].session_id

    @property
    def episode_id(self) -> str | None:
        """The running episode's id, from the metadata or by asking for the state; None when there is no episode.

        Raises:
            OpenEnvGymError: The state was asked for and could not be read.
        """
        if self._reader.episode_id is None and not self._lanes[0].is_unused and not self._lanes[0].needs_connection:
            found = self.state().get("episode_id")
            self._reader.episode_id = found if isinstance(found, str) else None
        return self._reader.episode_id

    @one_at_a_time
    def state(self) -> dict[str, Any]:
        """Asks for the environment's state.

        Raises:
            ResetNeeded: There was no reset yet.
            SessionLost: The session is gone.
            OpenEnvGymError: The environment or the connection failed.
        """
        self._check_started("state")
        group = self._lanes.group_of(0)
        asks: Sequence[Ask]
        if isinstance(group, VectorGroup):
            asks = group.ask("state", [0], lambda number, lanes: frames.State(id=number, lanes=group.numbers(lanes)))
            reply = self._answer(asks, self._setup.timeouts.state).reply
            found: dict[str, Any] = plain(reply.values[0])
            return found
        assert isinstance(group, StandardGroup)  # there are two
        reply = self._answer(group.ask("state", {0: StateRequest()}), self._setup.timeouts.state).reply
        return reply.data if isinstance(reply, StateReply) else {}

    def logs(self, lines: int = 100) -> str:
        """The last lines that the server wrote; empty for a server that runs without us."""
        server = self._lanes[0].server or self._setup.servers.known(0)
        return "" if server is None else server.logs(lines)

    @one_at_a_time
    def start_server(self, *, anew: bool = False) -> Server:
        """Gets the server without opening a session: for clients that open sessions of their own there.

        It belongs to this environment as that of a ``reset`` does, and is released by ``close``.

        Args:
            anew: Whether to give up the server that it has, because that cannot be reached, and to start another.
                A server that somebody else started is none of ours to give up.

        Returns:
            The server, with its address and how to connect to it.

        Raises:
            ClientClosed: The environment is closed.
            OpenEnvGymError: It could not be started.
        """
        self._enter()
        servers = self._setup.servers
        if anew:
            servers.replace(0)
        return servers.of([0])[0]

    @one_at_a_time
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, and a session where there is none.

        Args:
            seed: For this episode and, by way of the environment's own random numbers, all that follow. Without
                one, the next episode follows from the last seed.
            options: Reset options that go before the constructor's this once.

        Returns:
            The observation and its info.

        Raises:
            UnknownOption: An option that the environment does not have.
            OpenEnvGymError: The environment or the connection failed.
        """
        seed = None if seed is None else checked_seed(seed)
        super().reset(seed=seed)
        self._enter()
        self._setup.reset_data(options)
        self._reader.use(self._setup.interface())
        self._guard.is_at_work = True
        for error in self._lanes.connect([0]).values():
            raise error
        sent = self._reader.seeds.next(
            seed, is_new_session=self._lanes[0].is_new_session, generator=lambda: self.np_random
        )
        timeout = self._setup.timeouts.reset
        row = self._row(self._lanes.group_of(0).reset({0: sent}, options, timeout), timeout)
        return row.observation, row.info

    @one_at_a_time
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes a step.

        Args:
            action: A value of the action space, or anything that names one, such as numpy's integers.

        Returns:
            The observation, the reward, whether the episode terminated, whether it was truncated, and the info.

        Raises:
            ResetNeeded: There was no reset yet.
            InvalidAction: The action is outside its space. Nothing was sent.
            SessionLost: The session is gone; only ``reset`` brings another.
            OpenEnvGymError: The environment or the connection failed.
        """
        self._check_started("step")
        group = self._lanes.group_of(0)
        timeout = self._setup.timeouts.step
        written = group.write(self._setup.interface(), {0: action}, ())
        again = group.again(written, {}, 0, timeout) if isinstance(group, VectorGroup) else None
        if again is None or not self._lanes.repeat(again, timeout):
            return tuple(self._row(group.step(written, {}, timeout), timeout))
        self._lanes.wait(1)
        return tuple(self._row_of(_succeeded(self._lanes.take())))

    @one_at_a_time
    def render(self) -> Any:
        """A picture (uint8, height × width × 3) or a text of the environment, as ``render_mode`` says.

        Without one, a warning is logged and there is None, as Gymnasium's own environments do.

        Raises:
            ConfigurationError: The server speaks the standard wire alone.
            ResetNeeded: There was no reset yet.
            OpenEnvGymError: The environment or the connection failed.
        """
        if self.render_mode is None:
            warn_of_no_render_mode()
            return None
        self._check_started("render")
        return self._attributes.render()[0]

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether it is an attribute here, or a name that the environment allows on the vector wire."""
        if hasattr(self, name):
            return True
        try:
            self._alone(self._attributes.check, name)
        except AttributeError:
            return False
        return True

    def get_wrapper_attr(self, name: str) -> Any:
        """Reads an attribute from here, or from the environment where that allows the name.

        Returns:
            The value; of a method of the environment, a function that calls it there.

        Raises:
            AttributeError: It is neither.
            OpenEnvGymError: The environment or the connection failed.
        """
        if hasattr(self, name):
            return getattr(self, name)
        try:
            return self._alone(self._attributes.get, name)[0]
        except InvalidMessage:
            return partial(self._call, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute here, or of the environment where that allows the name.

        Args:
            name: The attribute.
            value: Its value.
            force: As in Gymnasium; but what is no attribute of either is never set here, where it would change nothing.

        Returns:
            True.

        Raises:
            AttributeError: It is neither.
            OpenEnvGymError: The environment or the connection failed.
        """
        if hasattr(self, name):
            return super().set_wrapper_attr(name, value, force=force)
        self._alone(self._attributes.set, name, [value])
        return True

    def close(self) -> None:
        """Ends the session, within two seconds. Never raises; further calls do nothing."""
        if self._finalizer.detach() is not None:
            self._lanes.close()

    def __repr__(self) -> str:
        server = self.server or "a server not started"
        return f"<{self._called or type(self).__name__} at {server}, session {self.session_id}>"

    def __str__(self) -> str:
        return repr(self) if self.spec is None else f"<{type(self).__name__}<{self.spec.id}>>"

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._alone(self._attributes.call, name, args, kwargs)[0]

    @one_at_a_time
    def _alone(self, ask: Callable[..., _T], *args: Any) -> _T:
        self._enter()
        return ask(*args)

    def _enter(self) -> None:
        if not self._finalizer.alive:
            raise ClientClosed(f"This {type(self).__name__} is closed; make another one.")
        self._lanes.enter_process()

    def _check_started(self, call: str) -> None:
        self._enter()
        if self._lanes[0].is_unused:
            raise ResetNeeded(f"Cannot call {call}() before reset().")

    def _abandon_call(self) -> None:
        """A step that may have been taken was reported to nobody: the next must not follow as if it had been."""
        self._lanes.give_up_all("The call was interrupted.")

    def _is_connected(self) -> bool:
        return not self._lanes[0].is_unused

    def _row(self, asks: Sequence[Ask], timeout: float | None) -> Row:
        return self._row_of(self._answer(asks, timeout))

    def _row_of(self, answer: Answer) -> Row:
        group: LaneGroup = answer.source
        try:
            return group.read_one(self._setup.interface(), answer, self._lane_state)
        except OpenEnvGymError as error:
            self._lanes.name(error, 0)
            raise

    def _answer(self, asks: Sequence[Ask], timeout: float | None) -> Answer:
        return _succeeded(self._lanes.ask(asks, timeout))


def _succeeded(answers: Sequence[Answer]) -> Answer:
    (answer,) = answers
    for error in answer.errors.values():
        raise error
    return answer
