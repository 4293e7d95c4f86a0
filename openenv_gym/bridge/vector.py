"""Many sessions of an environment, as one ``gymnasium.vector.VectorEnv``."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from openenv_gym_protocol.autoreset import AutoresetMode as OwnMode
from openenv_gym_protocol.autoreset import Move
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import ConfigurationError, InvalidObservation, OpenEnvGymError, SessionLost
from openenv_gym_protocol.messages import Request, ResetRequest, StepRequest

from openenv_gym.bridge.batch import batch_infos, batch_observations
from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.env import OWN_KEYWORDS
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_state import LaneState
from openenv_gym.bridge.lanes import Lanes, reply_of
from openenv_gym.bridge.masks import reset_mask
from openenv_gym.bridge.round import Outcome
from openenv_gym.bridge.rows import Row
from openenv_gym.bridge.seeds import lane_seeds
from openenv_gym.bridge.setup import Keywords, Setup
from openenv_gym.bridge.spaces import View
from openenv_gym.bridge.step_batch import StepBatch, encode_action, split_actions
from openenv_gym.transports.timeouts import Timeouts

VectorStep: TypeAlias = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]

_ATTRIBUTES = ("session_id", "episode_id", "server", "np_random", "np_random_seed", "render_mode", "spec")
"""What ``get_attr`` knows of a lane."""

_VECTOR_KEYWORDS = ("num_envs", "autoreset_mode", "max_episode_steps", "sessions_per_server", "on_failure")


class RemoteVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Sessions of one environment, stepped together.

    It connects at the first ``reset``. All lanes' requests leave in one batch and their replies are awaited
    together; an error is raised when every lane has settled, and names its lane.

    Args:
        base_url: A server that runs already, or several, among which the lanes are dealt out in turn.
        num_envs: How many lanes.
        autoreset_mode: What follows the end of an episode: Gymnasium's enum or its value.
        max_episode_steps: Steps after which an episode is truncated.
        sessions_per_server: How many lanes a server gets; more lanes get more servers.
        on_failure: ``"raise"``.
        path: As for ``RemoteEnv``, and so are all further ones.
        image: See there.
        provider: See there.
        token: See there.
        timeouts: See there. A step has one deadline for all lanes.
        spaces: See there.
        settings: See there.
        reset_options: See there.
        render_mode: See there.
        declared: See there.
        **options: See there.

    Attributes:
        autoreset_mode: Gymnasium's enum; ``metadata["autoreset_mode"]`` is the same.

    Raises:
        UnknownOption: A keyword that nobody knows; it is a TypeError.
        ConfigurationError: Keywords that contradict each other.
        OpenEnvGymError: The server had to be asked for its spaces, and could not be.
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 30}  # noqa: RUF012  (Gymnasium's declaration)

    def __init__(
        self,
        base_url: str | Sequence[str] | None = None,
        *,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        sessions_per_server: int | None = None,
        on_failure: str = "raise",
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
        **options: Any,
    ) -> None:
        super().__init__()
        mode = _mode(autoreset_mode)
        _check(num_envs, on_failure)
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
            sessions_per_server=sessions_per_server,
        )
        rules = OwnMode(mode.value)
        limit = None if max_episode_steps is None or max_episode_steps == -1 else int(max_episode_steps)
        self._states = [LaneState(rules, limit) for _ in range(num_envs)]
        self._setup = Setup(type(self).__name__, keywords, options, (*OWN_KEYWORDS, *_VECTOR_KEYWORDS))
        self._setup.source.check(num_envs)
        self.num_envs = num_envs
        self.autoreset_mode = mode
        self.metadata = {**self.metadata, "render_modes": [], "autoreset_mode": mode}
        self.render_mode = None
        self.single_action_space = self._setup.action_space
        self.single_observation_space = self._setup.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._lanes = Lanes(num_envs, self._setup.source, self._setup.timeouts)
        self._failure: OpenEnvGymError | None = None
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

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode in every lane, or in those that ``options["reset_mask"]`` chooses.

        Args:
            seed: An integer (lane i gets ``seed + i``), or one integer or None for each lane, or None. A lane
                without one continues from its last.
            options: ``reset_mask``, and reset options that go before the constructor's this once.

        Returns:
            The observations, and infos of the lanes that were reset.

        Raises:
            TypeError, ValueError: The mask or the seeds are not one for each lane.
            UnknownOption: An option that the environment does not have.
            OpenEnvGymError: A lane failed; the error names it.
        """
        seeds = lane_seeds(seed, self.num_envs)
        lanes, rest = reset_mask(options, self.num_envs)
        if len(lanes) < self.num_envs:
            self._check_started()
        self._lanes.enter_process()
        data = self._setup.reset_data(rest)
        for lane in lanes:
            self._states[lane].seed(seeds[lane])
        rows = self._exchange({lane: self._reset_request(lane, data, seeds[lane]) for lane in lanes})
        self._failure = None
        for lane in lanes:
            self._begin(lane, rows[lane])
        infos = batch_infos(self.num_envs, [(lane, rows[lane].info) for lane in lanes])
        return self._observations(), infos

    def step(self, actions: Any) -> VectorStep:
        """Takes a step in every lane; in a lane whose episode is over, what ``autoreset_mode`` says.

        Args:
            actions: A value of the action space, or a list of one action for each lane.

        Returns:
            The observations; the rewards, float64 of shape ``(num_envs,)``; the terminations and the truncations,
            bool of shape ``(num_envs,)``; and the infos. All of them are new objects.

        Raises:
            ResetNeeded: There was no reset yet.
            InvalidAction: An action is outside its space. Nothing was sent.
            SessionLost: The last call failed; only ``reset`` may follow.
            OpenEnvGymError: A lane failed; the error names it.
        """
        self._check_started()
        interface = self._setup.interface()
        single = split_actions(self.action_space, self.single_action_space, actions, self.num_envs)
        moves = [state.rules.plan() for state in self._states]
        # Every action is written before anything is sent or drawn: a wrong one leaves all lanes as they were.
        requests: dict[int, Request] = {
            lane: StepRequest(data=encode_action(interface, lane, single[lane]))
            for lane, move in enumerate(moves)
            if move is Move.STEP
        }
        data = self._setup.reset_data()
        requests.update(
            {lane: self._reset_request(lane, data) for lane, move in enumerate(moves) if move is Move.RESET}
        )
        rows = self._exchange(requests)
        batch = StepBatch(self.num_envs)
        for lane in range(self.num_envs):
            if moves[lane] is Move.RESET:
                self._begin(lane, rows[lane])
                batch.add_reset(lane, rows[lane])
            else:
                self._stepped(lane, rows[lane], batch)
        if batch.finished:
            self._reset_finished(batch)
        return self._observations(), batch.rewards, batch.terminations, batch.truncations, batch.infos()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Reads an attribute of every lane; methods of a remote environment cannot be called.

        Raises:
            AttributeError: It is not one of those that are known here.
        """
        if args or kwargs or name not in _ATTRIBUTES:
            raise AttributeError(
                f"A remote environment has no {name!r} that could be called or read; known: {', '.join(_ATTRIBUTES)}."
            )
        match name:
            case "np_random":
                return self.np_random
            case "np_random_seed":
                return self.np_random_seed
            case "session_id":
                return tuple(self._lanes[lane].session_id for lane in range(self.num_envs))
            case "episode_id":
                return tuple(state.reader.episode_id for state in self._states)
            case "server":
                return self.servers
        return (getattr(self, name),) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Reads an attribute of every lane; see ``call``."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:  # noqa: ARG002  (Gymnasium's signature)
        """Refuses: a remote environment's attributes cannot be set.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{name!r} cannot be set: a remote environment takes reset options and settings only.")

    def render(self) -> tuple[Any, ...] | None:
        """Refuses: the standard wire carries no pictures.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError("This environment renders nothing: the standard wire carries no pictures.")

    @property
    def servers(self) -> tuple[str | None, ...]:
        """The address of each lane's server, once it is known."""
        found = [self._lanes[lane].server or self._setup.source.known(lane) for lane in range(self.num_envs)]
        return tuple(None if server is None else server.base_url for server in found)

    def logs(self, lines: int = 100) -> tuple[str, ...]:
        """The last lines that each lane's server wrote; empty for servers that run without us."""
        found = [self._setup.source.known(lane) for lane in range(self.num_envs)]
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

    def _reset_request(self, lane: int, data: dict[str, Any], seed: int | None = None) -> ResetRequest:
        state = self._states[lane]
        state.reader.use(self._setup.interface())
        sent = state.reader.seeds.next(
            seed, is_new_session=self._lanes[lane].is_new_session, generator=lambda: state.generator
        )
        return ResetRequest(data=data if sent is None else {**data, "seed": sent})

    def _exchange(self, requests: Mapping[int, Request]) -> dict[int, Row]:
        """Asks lanes and reads their rows; raises the first error when all of them are settled."""
        # Until all of it has succeeded: some lanes may have moved on without anybody being told of it.
        self._failure = SessionLost("The call was interrupted.")
        try:
            outcomes = self._lanes.exchange(requests)
            interface = self._setup.interface()
            rows = {}
            for lane in sorted(outcomes):
                rows[lane] = self._read(lane, interface, outcomes[lane])
        except OpenEnvGymError as error:
            self._failure = error
            raise
        self._failure = None
        return rows

    def _read(self, lane: int, interface: Interface, outcome: Outcome) -> Row:
        try:
            return self._states[lane].reader.read(interface, reply_of(outcome))
        except InvalidObservation as error:
            self._lanes.name(error, lane)
            raise

    def _begin(self, lane: int, row: Row) -> None:
        self._states[lane].rules.reset()
        self._states[lane].observation = row.observation

    def _stepped(self, lane: int, row: Row, batch: StepBatch) -> None:
        state = self._states[lane]
        end = state.rules.stepped(terminated=row.terminated, truncated=row.truncated)
        state.observation = row.observation
        batch.add_step(lane, row, end)

    def _reset_finished(self, batch: StepBatch) -> None:
        """SAME_STEP: one more round trip for the lanes that finished."""
        data = self._setup.reset_data()
        rows = self._exchange({lane: self._reset_request(lane, data) for lane in batch.finished})
        for lane, row in rows.items():
            self._begin(lane, row)
            batch.add_new_episode(lane, row)

    def _observations(self) -> Any:
        return batch_observations(self.single_observation_space, [state.observation for state in self._states])

    def _check_started(self) -> None:
        self._lanes.enter_process()
        if self._failure is not None:
            raise SessionLost(
                "The last call failed, and what the other lanes did in it was not reported: call reset() of all "
                f"lanes. It failed with: {self._failure}"
            ) from self._failure
        if any(state.observation is None for state in self._states):
            raise ResetNeeded("Cannot call step(), or reset() of some lanes, before reset() of all.")


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        values = ", ".join(repr(each.value) for each in AutoresetMode)
        raise ConfigurationError(f"autoreset_mode must be one of {values}, not {mode!r}.") from error


def _check(num_envs: int, on_failure: str) -> None:
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise ConfigurationError(f"num_envs must be an integer of at least 1, not {num_envs!r}.")
    if on_failure != "raise":
        raise ConfigurationError(f"on_failure must be 'raise', not {on_failure!r}.")
