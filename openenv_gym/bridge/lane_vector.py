"""What a vector environment is and knows beside its resets and steps: its lanes, their attributes, its end."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from openenv_gym_protocol.autoreset import AutoresetMode as OwnMode
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import OpenEnvGymError, SessionLost

from openenv_gym.bridge.attributes import LaneAttributes, warn_of_no_render_mode
from openenv_gym.bridge.failing import Failing
from openenv_gym.bridge.guard import one_at_a_time
from openenv_gym.bridge.lane_sets import all_lanes
from openenv_gym.bridge.lanes.group import Episodes
from openenv_gym.bridge.lanes.lanes import Lanes
from openenv_gym.bridge.pending import PendingCalls
from openenv_gym.bridge.setup import Setup
from openenv_gym.bridge.stepping import Stepping
from openenv_gym.bridge.travel import Travels
from openenv_gym.errors import WaitTimeout


class LaneVector(Travels, VectorEnv[Any, Any, NDArray[Any]]):
    """The part of ``RemoteVectorEnv`` that takes no steps; the constructor there reads the keywords."""

    _setup: Setup
    _failure: OpenEnvGymError | None

    def _set_up(self, num_envs: int, mode: AutoresetMode, limit: int | None, on_failure: str) -> None:
        """Makes the lanes; nothing is connected yet."""
        setup = self._setup
        setup.servers.check(num_envs)
        self.num_envs = num_envs
        self._everyone = all_lanes(num_envs)
        self.autoreset_mode = mode
        self.metadata = {**self.metadata, **setup.metadata(), "autoreset_mode": mode}
        self.render_mode = setup.render_mode
        self.single_action_space = setup.action_space
        self.single_observation_space = setup.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        episodes = Episodes(
            autoreset=OwnMode(mode.value),
            max_steps=limit,
            options=setup.reset_options,
            render_mode=self.render_mode,
        )
        self._lanes = Lanes(num_envs, setup.servers, setup.timeouts, episodes, wire=setup.wire)
        self._guard = self._lanes.guard
        failing = Failing(on_failure, self._lanes)
        self._stepping = Stepping(self._lanes, setup, episodes.autoreset, limit, failing)
        self._states = self._stepping.states
        self._pending = PendingCalls(type(self).__name__, self._stepping)
        self._attributes = LaneAttributes(self._lanes, setup)
        self._failure = None
        self._finalizer = weakref.finalize(self, self._lanes.discard)

    @property
    def schema(self) -> Schemas:
        """The schemas of the server's models, from ``/schema``. Starts the server when it does not run."""
        return self._setup.interface().schemas

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as Gymnasium's own vector environments
        """Each lane's seed."""
        return tuple(state.np_random_seed for state in self._states)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]  # as Gymnasium's own
        """Each lane's generator."""
        return tuple(state.generator for state in self._states)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every lane's environment, or reads an attribute, where the environment allows the name.

        What is known here needs nobody to be asked: ``session_id``, ``episode_id``, ``server``, ``np_random``,
        ``np_random_seed``, ``render_mode``, ``spec``, and a lane's ``action_space``, ``observation_space`` and
        ``metadata``; ``render`` is this class's own.

        Raises:
            AttributeError: It is none of these, and no name that the environment allows on the vector wire.
            OpenEnvGymError: A lane failed; the error names it.
        """
        known = {"np_random": self.np_random, "np_random_seed": self.np_random_seed, "server": self.servers}
        if not args and not kwargs:
            if name in known:
                return tuple(known[name])
            if name in ("render_mode", "spec"):
                return (getattr(self, name),) * self.num_envs
            if name in ("action_space", "observation_space"):
                return (getattr(self, f"single_{name}"),) * self.num_envs
            if name == "metadata":
                return tuple({**type(self).metadata, **self._setup.metadata()} for _ in range(self.num_envs))
            if name == "episode_id":
                return tuple(state.reader.episode_id for state in self._states)
            if name == "session_id":
                return tuple(self._lanes[lane].session_id for lane in range(self.num_envs))
            if name == "render":
                return self.render() or ()
        return self._call_all(name, args, kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Reads an attribute of every lane; see ``call``."""
        return self.call(name)

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every lane's environment, where the environment allows the name.

        Args:
            name: The attribute.
            values: One value for all, or a list or tuple with one for each lane.

        Raises:
            AttributeError: It is no name that the environment allows on the vector wire.
            ValueError: There are not as many values as lanes.
            OpenEnvGymError: A lane failed; the error names it.
        """
        each = list(values) if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(f"{len(each)} values were given for {self.num_envs} environments.")
        self._enter_idle("set_attr")
        self._attributes.set(name, each)

    @one_at_a_time
    def render(self) -> tuple[Any, ...] | None:
        """A picture, or a text, of every lane, as ``render_mode`` says.

        Without one, a warning is logged and there is None for each lane, as Gymnasium's own environments do.

        Raises:
            ConfigurationError: A lane is on the standard wire.
            ResetNeeded: There was no reset yet.
            OpenEnvGymError: A lane failed; the error names it.
        """
        self._enter_idle("render")
        if self.render_mode is None:
            warn_of_no_render_mode()
            return (None,) * self.num_envs
        self._check_started("render()")
        return self._attributes.render()

    @property
    def servers(self) -> tuple[str | None, ...]:
        """The address of each lane's server, once it is known."""
        found = [self._lanes[lane].server or self._setup.servers.known(lane) for lane in range(self.num_envs)]
        return tuple(None if server is None else server.base_url for server in found)

    def logs(self, lines: int = 100) -> tuple[str, ...]:
        """The last lines that each lane's server wrote; empty for servers that run without us."""
        found = [self._setup.servers.known(lane) for lane in range(self.num_envs)]
        return tuple("" if server is None else server.logs(lines) for server in found)

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ARG002  (Gymnasium's signature)
        """Ends the sessions, within two seconds. Never raises."""
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.detach() is not None:
            self._lanes.close()

    def __repr__(self) -> str:
        name = type(self).__name__ if self.spec is None else f"{type(self).__name__}({self.spec.id})"
        servers = sorted({server for server in self.servers if server is not None})
        return f"<{name} of {self.num_envs} sessions at {', '.join(servers) or 'servers not started'}>"

    def _is_connected(self) -> bool:
        return any(not self._lanes[lane].is_unused for lane in range(self.num_envs))

    def _enter(self) -> None:
        self._pending.check_open(is_closed=self.closed)
        if self._lanes.enter_process():
            self._stepping.forget()
            self._pending.forget()

    @one_at_a_time
    def _call_all(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        self._enter_idle("call")
        return self._attributes.call(name, args, kwargs)

    def _enter_idle(self, call: str) -> None:
        self._enter()
        self._pending.check_free(call, self._everyone)

    def _abandon_call(self) -> None:
        """After an interrupt, nobody knows where the lanes stand, nor what was reported of them: all are lost."""
        self._failure = SessionLost("The call was interrupted.")
        self._pending.forget()
        self._stepping.forget()
        self._lanes.give_up_all("The call was interrupted before its end.")

    def _note_failure(self, error: OpenEnvGymError) -> None:
        """Of a call that failed, some lanes may have moved on without anybody being told of it."""
        if self._guard.is_at_work and not isinstance(error, WaitTimeout):  # otherwise nothing was sent
            self._failure = error
            self._stepping.give_up("The call failed before the reply came.")

    def _check_started(self, call: str) -> None:
        if self._failure is not None:
            raise SessionLost(
                "The last call failed, and what the other lanes did in it was not reported: call reset() of all "
                f"lanes. It failed with: {self._failure}"
            ) from self._failure
        if not self._stepping.observations.is_complete:
            raise ResetNeeded(f"Cannot call {call} before reset() of all lanes.")
