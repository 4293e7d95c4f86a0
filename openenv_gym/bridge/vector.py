"""Many sessions of an environment, as one ``gymnasium.vector.VectorEnv``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.bridge.checks import check_count, read_autoreset_mode
from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.failing import check_on_failure
from openenv_gym.bridge.guard import one_at_a_time
from openenv_gym.bridge.lane_sets import LaneSet, lane_set
from openenv_gym.bridge.lane_vector import LaneVector
from openenv_gym.bridge.masks import reset_mask
from openenv_gym.bridge.schema.derived import View
from openenv_gym.bridge.seeds import lane_seeds
from openenv_gym.bridge.setup import VECTOR_KEYWORDS, Keywords, Setup
from openenv_gym.bridge.step_batch import lane_actions
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.timeouts import Timeouts

VectorStep: TypeAlias = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]

LanesStep: TypeAlias = tuple[
    NDArray[np.int64], Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
]


# VectorEnv is named, here and in what derives from this, though LaneVector is one: skrl looks at direct bases only.
class RemoteVectorEnv(LaneVector, VectorEnv[Any, Any, NDArray[Any]]):
    """Sessions of one environment, stepped together.

    It connects at the first ``reset``. All lanes' requests leave in one batch and their replies are awaited
    together; an error is raised when every lane has settled, and names its lane.

    It takes one call at a time: a second thread's is refused with ``ConcurrentCall``, except ``close``. A call that is
    interrupted ends all sessions, and ``reset`` begins others.

    Args:
        base_url: A server that runs already, or several, among which the lanes are dealt out in turn.
        num_envs: How many lanes.
        autoreset_mode: What follows the end of an episode: Gymnasium's enum or its value.
        max_episode_steps: Steps after which an episode is truncated.
        sessions_per_server: How many lanes a server gets; more lanes get more servers.
        on_failure: What becomes of a lane that fails in a step. ``"raise"``: the error is raised. ``"truncate"``: the
            lane reports its last observation with reward 0.0, truncated, and ``info["failure"]``, the failure class
            (in SAME_STEP in ``info["final_info"]``, as all that is of the episode's end); it goes on in any free
            session. ``"replace"``: the same, on a server that is started anew. Of an environment that resets its lanes
            only together, all lanes of a server fail with one.
        path: As for ``RemoteEnv``, and so are all further ones.
        image: See there.
        provider: See there.
        token: See there.
        timeouts: See there. A step has one deadline for all lanes, and one that may reset has the longer of both.
        spaces: See there.
        settings: See there.
        reset_options: See there.
        render_mode: See there.
        declared: See there.
        wire: See there. Servers of different wires may be mixed.
        **options: See there.

    Attributes:
        autoreset_mode: Gymnasium's enum; ``metadata["autoreset_mode"]`` is the same.

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
        wire: Wire | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        mode = read_autoreset_mode(autoreset_mode)
        check_count("num_envs", num_envs)
        num_envs = int(num_envs)
        check_count("max_episode_steps", max_episode_steps, also=(None, -1))
        check_count("sessions_per_server", sessions_per_server, also=(None,))
        check_on_failure(on_failure, runs_already=base_url is not None)
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
        limit = None if max_episode_steps is None or max_episode_steps == -1 else max_episode_steps
        self._setup = Setup(
            self._called or type(self).__name__,
            keywords,
            options,
            more_names=(*VECTOR_KEYWORDS, *self._more_names),
            sessions_per_server=sessions_per_server,
        )
        self._set_up(num_envs, mode, limit, on_failure)

    @one_at_a_time
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
        self._begin_reset(seed, options)
        return self._end_reset(None)

    @one_at_a_time
    def reset_async(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Begins what ``reset`` does; ``reset_wait`` ends it.

        Raises:
            AlreadyPendingCallError: Another call is pending. A reset of all lanes gives up one whose wait timed out:
                the lanes that are late get new sessions.
            TypeError, ValueError, OpenEnvGymError: As ``reset``.
        """
        self._begin_reset(seed, options)

    def _begin_reset(self, seed: int | Sequence[int | None] | None, options: dict[str, Any] | None) -> None:
        self._enter()
        seeds = lane_seeds(seed, self.num_envs)
        lanes, rest = reset_mask(options, self.num_envs)
        chosen = lane_set(lanes, self.num_envs)
        self._setup.reset_data(rest)
        self._pending.check_free("reset", chosen)
        if len(lanes) < self.num_envs:
            self._check_started("reset() of some lanes")
        try:
            self._stepping.reset(chosen, {lane: seeds[lane] for lane in lanes}, rest)
        except OpenEnvGymError as error:
            self._note_failure(error)
            raise
        self._pending.begin("reset", chosen)

    @one_at_a_time
    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """Ends what ``reset_async`` began, and returns what ``reset`` returns.

        Args:
            timeout: Seconds to wait; None to wait until the call's own deadline.

        Raises:
            NoAsyncCallError: No ``reset_async`` is pending.
            WaitTimeout: It is not done yet; it stays pending.
            OpenEnvGymError: A lane failed; the error names it.
        """
        return self._end_reset(timeout)

    def _end_reset(self, timeout: float | None) -> tuple[Any, dict[str, Any]]:
        self._enter()
        self._pending.check_begun("reset")
        lanes = self._settled(timeout)
        if len(lanes) == self.num_envs:
            self._failure = None
        infos = [(lane, self._stepping.results.pop(lane).info) for lane in lanes]
        return self._stepping.observations.batch(), batch_infos(self.num_envs, infos)

    @one_at_a_time
    def step(self, actions: Any) -> VectorStep:
        """Takes a step in every lane; in a lane whose episode is over, what ``autoreset_mode`` says.

        Args:
            actions: A value of the action space, or a list of one action for each lane.

        Returns:
            The observations; the rewards, float64 of shape ``(num_envs,)``; the terminations and the truncations,
            bool of shape ``(num_envs,)``; and the infos. All of them are new objects.

        Raises:
            ResetNeeded: There was no reset yet.
            EpisodeOver: A lane's episode is over and autoreset is disabled; it is an AssertionError, as Gymnasium's
                own. Nothing was sent.
            InvalidAction: An action is outside its space. Nothing was sent.
            SessionLost: The last call failed; only ``reset`` may follow.
            OpenEnvGymError: A lane failed; the error names it.
        """
        self._begin_step(actions, is_awaited=True)
        return self._end_step(None)

    @one_at_a_time
    def step_async(self, actions: Any) -> None:
        """Begins what ``step`` does; ``step_wait`` ends it.

        Raises:
            AlreadyPendingCallError: Another call is pending.
            ResetNeeded, EpisodeOver, InvalidAction, SessionLost: As ``step``. Nothing was sent.
        """
        self._begin_step(actions)

    def _begin_step(self, actions: Any, *, is_awaited: bool = False) -> None:
        self._enter()
        self._pending.check_free("step", self._everyone)
        self._check_started("step()")
        self._step(self._everyone, self.action_space, actions, is_awaited=is_awaited)
        self._pending.begin("step", self._everyone)

    def _step(self, chosen: LaneSet, batched: Space[Any], actions: Any, *, is_awaited: bool = False) -> None:
        given = lane_actions(batched, self.single_action_space, actions, chosen)
        try:
            self._stepping.step(chosen, given, is_awaited=is_awaited)
        except OpenEnvGymError as error:
            self._note_failure(error)
            raise

    @one_at_a_time
    def step_wait(self, timeout: float | None = None) -> VectorStep:
        """Ends what ``step_async`` began, and returns what ``step`` returns.

        Args:
            timeout: Seconds to wait; None to wait until the call's own deadline.

        Raises:
            NoAsyncCallError: No ``step_async`` is pending.
            WaitTimeout: It is not done yet. It stays pending: call this again, or ``reset``, which gives up what is
                late. What comes is never taken for the result of another call.
            OpenEnvGymError: A lane failed; the error names it.
        """
        self._enter()
        self._pending.check_begun("step")
        return self._end_step(timeout)

    def _end_step(self, timeout: float | None) -> VectorStep:
        lanes = self._settled(timeout)
        batch = self._stepping.results.take(lanes)
        observations = self._stepping.observations.batch()
        return observations, batch.rewards, batch.terminations, batch.truncations, batch.infos

    @one_at_a_time
    def send(self, actions: Any, lanes: Sequence[int] | NDArray[np.int64] | None = None) -> None:
        """Begins a step in some lanes and does not wait for it; ``recv`` takes what comes.

        A lane that lost its session and resets in this step is connected first, which is waited for.

        Args:
            actions: One action for each lane, as a list or as a value of the batched space.
            lanes: Their indices, of which none is running; None for all.

        Raises:
            AlreadyPendingCallError: A lane is running, or ``recv`` has not taken its last step yet.
            ResetNeeded, EpisodeOver, InvalidAction, SessionLost: As ``step``. Nothing was sent.
        """
        self._enter()
        chosen = self._chosen(lanes)
        self._pending.check_free("send", chosen)
        self._check_started("send()")
        self._step(chosen, batch_space(self.single_action_space, len(chosen.lanes)), actions)

    @one_at_a_time
    def recv(self, min_lanes: int = 1, timeout: float | None = None) -> LanesStep:
        """Takes the steps that are done, and leaves the others running.

        Args:
            min_lanes: How many lanes to wait for, at most those that ``send`` began.
            timeout: Seconds to wait; None to wait until their own deadlines.

        Returns:
            The indices of the lanes, and for these lanes alone, in that order: the observations, the rewards, the
            terminations, the truncations and the infos.

        Raises:
            NoAsyncCallError: Fewer lanes than ``min_lanes`` are running or done.
            WaitTimeout: So many are not done yet; they stay pending.
            OpenEnvGymError: A lane failed; the error names it. The others can still be taken, and the lane stepped
                again, or reset if it is lost.
        """
        self._enter()
        lanes = self._pending.receive(min_lanes, timeout)
        batch = self._stepping.results.take(lanes)
        observations = self._stepping.observations.batch(lanes)
        return (
            np.array(lanes, np.int64),
            observations,
            batch.rewards,
            batch.terminations,
            batch.truncations,
            batch.infos,
        )

    def _chosen(self, lanes: Sequence[int] | NDArray[np.int64] | None) -> LaneSet:
        if lanes is None:
            return self._everyone
        chosen = [int(lane) for lane in lanes]
        if len(set(chosen)) != len(chosen) or not all(0 <= lane < self.num_envs for lane in chosen):
            raise ValueError(f"lanes must be different indices below {self.num_envs}, not {chosen}.")
        return lane_set(chosen, self.num_envs)

    def _settled(self, timeout: float | None) -> Sequence[int]:
        try:
            return self._pending.end(timeout)
        except OpenEnvGymError as error:
            self._note_failure(error)
            raise
