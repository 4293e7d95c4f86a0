"""A ``RemoteVectorEnv`` as a vector environment of Tianshou 2, whose collectors take none of Gymnasium's.

::

    envs = gymnasium.make_vec("openenv/CartPole-v1", num_envs=8, autoreset_mode="Disabled")
    collector = Collector(policy, TianshouVectorEnv(envs), buffer)

It needs Tianshou (``pip install tianshou``).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from gymnasium import spaces
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, SessionLost
from tianshou.env import BaseVectorEnv  # type: ignore[import-not-found, unused-ignore]

from openenv_gym.bridge.checks import check_count
from openenv_gym.bridge.seeds import lane_seeds
from openenv_gym.bridge.vector import LanesStep, RemoteVectorEnv
from openenv_gym.errors import WaitTimeout
from openenv_gym.trainers.attributes import get_of, set_of
from openenv_gym.trainers.checks import check_vector_env
from openenv_gym.trainers.infos import split_infos

Ids: TypeAlias = int | Sequence[int] | NDArray[np.int64] | None

Step: TypeAlias = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], NDArray[Any]]

_NAME = "Tianshou"


class TianshouVectorEnv(BaseVectorEnv):  # type: ignore[misc, unused-ignore]
    """The lanes of one ``RemoteVectorEnv``, for Tianshou's collectors.

    Steps and resets may be of some lanes. Observations are stacked as Tianshou's own vector environments stack them:
    those of a Dict space are an array of dicts. Infos are an array of dicts, which have ``env_id`` after a step.

    Args:
        env: The environment. Its autoreset mode is DISABLED: the collector resets.
        wait_num: How many lanes a step waits for; the others go on, and a later step returns them. None for all.
        timeout: Seconds after which a step returns those that are done, at least one. None to wait for ``wait_num``.

    Attributes:
        env: The environment.
        env_num: How many lanes it has.
        is_async: Whether a step may return before all lanes are done.
        waiting_id: The lanes that are stepping.
        ready_id: The others.

    Raises:
        ConfigurationError: It is no RemoteVectorEnv, has another autoreset mode or Tuple observations, or ``wait_num``
            or ``timeout`` cannot be.
    """

    # Not the constructor of the base class, which makes workers.
    def __init__(self, env: RemoteVectorEnv, wait_num: int | None = None, timeout: float | None = None) -> None:
        check_vector_env(_NAME, env, AutoresetMode.DISABLED)
        if not isinstance(env, RemoteVectorEnv):
            raise ConfigurationError(
                f"{_NAME}'s adapter takes a RemoteVectorEnv itself, which can step some of its lanes, not {env!r:.80}: "
                "wrap the adapter, or the environments at their server."
            )
        if isinstance(env.single_observation_space, spaces.Tuple):
            raise ConfigurationError(
                f"{_NAME} does not take observation_space={env.single_observation_space!r:.100}. Make the environment "
                "with spaces='flat', which makes a Dict of a Tuple."
            )
        check_count("wait_num", wait_num, also=(None,))
        if (wait_num or 1) > env.num_envs:
            raise ConfigurationError(f"wait_num= must be at most the {env.num_envs} lanes, not {wait_num}.")
        if timeout is not None and not timeout > 0:
            raise ConfigurationError(f"timeout= must be a number of seconds above 0, not {timeout!r:.80}.")
        self.env = env
        self.env_num = env.num_envs
        self.wait_num = wait_num or env.num_envs
        self.timeout = timeout
        self.is_async = self.wait_num != env.num_envs or timeout is not None
        self.waiting_id: list[int] = []
        self.ready_id = list(range(env.num_envs))
        self._unreported: set[int] = set()
        # Tianshou draws and seeds by lane.
        self._action_spaces = [deepcopy(env.single_action_space) for _ in range(env.num_envs)]

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self.env.closed

    def reset(
        self, env_id: Ids = None, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Starts an episode in some lanes.

        Args:
            env_id: The lanes; None for all.
            seed: The seed of each of them, as in Tianshou's own: all have the same.
            options: Reset options that go before the constructor's this once.

        Returns:
            The observations and the infos of these lanes, in their order.

        Raises:
            ConfigurationError: A lane is stepping, or there is none of that number.
            OpenEnvGymError: A lane failed; the error names it.
        """
        lanes = self._idle(self._lanes(env_id))
        mask = np.isin(np.arange(self.env_num), lanes)
        chosen = dict(options or {}) if mask.all() else {**(options or {}), "reset_mask": mask}
        observations, infos = self.env.reset(
            seed=None if seed is None else [seed] * self.env_num, options=chosen or None
        )
        self._unreported.difference_update(lanes)
        rows = split_infos(infos, self.env_num)
        return self._stacked(observations, self.env_num, lanes), _objects([rows[lane] for lane in lanes])

    def step(self, action: Any, id: Ids = None) -> Step:
        """Takes a step in some lanes.

        Args:
            action: One action for each of the lanes; None begins no step, and takes those under way. With the lanes of
                all of these it waits for all.
            id: The lanes; None for all.

        Returns:
            The observations, rewards, terminations, truncations and infos: of these lanes in their order, or, where
            ``is_async``, of those that are done, in the order of their numbers.

        Raises:
            ConfigurationError: There are not as many actions as lanes, or a lane is stepping.
            EpisodeOver: A lane's episode is over. Nothing was sent.
            InvalidAction: An action is outside its space. Nothing was sent.
            SessionLost: What a lane did in the last step was not reported, because another one failed: reset it.
            OpenEnvGymError: A lane failed; the error names it.
        """
        if action is None and not self.is_async:
            raise ConfigurationError("step() takes one action for each lane, not None: all steps are done already.")
        lanes = self._lanes(id)
        if action is not None:
            self._send(action, self._idle(lanes))
        if self.is_async:
            waits_for_all = action is None and id is not None and set(lanes) >= set(self.waiting_id)
            return self._received(len(self.waiting_id) if waits_for_all else self.wait_num)
        order, *step = self._recv(len(lanes), None)
        rows = [order.tolist().index(lane) for lane in lanes]
        return self._as_tianshou((order, *step), rows)

    def seed(self, seed: int | Sequence[int] | None = None) -> list[list[int] | None]:
        """Starts a seeded episode in every lane, as Tianshou's own vector environments do, and seeds its action space.

        Args:
            seed: Lane i gets ``seed + i``; or one seed for each lane; or None.

        Returns:
            A list with its seed for each lane.
        """
        seeds = lane_seeds(seed, self.env_num)
        for space, each in zip(self._action_spaces, seeds, strict=True):
            space.seed(each)
        self.env.reset(seed=seeds)
        self._unreported.clear()
        return [None if each is None else [each] for each in seeds]

    def get_env_attr(self, key: str, id: Ids = None) -> list[Any]:
        """Reads an attribute of the lanes; see ``RemoteVectorEnv.get_attr``."""
        if key == "action_space":
            return [self._action_spaces[lane] for lane in self._lanes(id)]
        return get_of(self.env, key, self._lanes(id))

    def set_env_attr(self, key: str, value: Any, id: Ids = None) -> None:
        """Sets an attribute of the lanes to one value; see ``RemoteVectorEnv.set_attr``."""
        set_of(self.env, key, value, self._lanes(id))

    def render(self, **kwargs: Any) -> list[Any]:
        """A picture, or a text, of every lane; see ``RemoteVectorEnv.render``.

        Raises:
            ConfigurationError: There are keywords, which a remote environment does not take.
        """
        if kwargs:
            raise ConfigurationError(
                f"render() takes no {next(iter(kwargs))}=: what it gives is chosen by render_mode= of make_vec."
            )
        return list(self.env.render() or ())

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def _send(self, action: Any, lanes: list[int]) -> None:
        actions = list(action.numpy() if isinstance(action, torch.Tensor) else action)
        if len(actions) != len(lanes):
            raise ConfigurationError(f"step() takes one action for each of {len(lanes)} lanes, not {len(actions)}.")
        lost = self._unreported.intersection(lanes)
        if lost:
            raise SessionLost(
                f"Another lane failed in the last step, and what lanes {sorted(lost)} did in it was not reported: call "
                "reset() of them."
            )
        self.env.send(actions, lanes)
        self.waiting_id += lanes
        self.ready_id = [lane for lane in self.ready_id if lane not in lanes]

    def _received(self, count: int) -> Step:
        try:
            step = self._recv(min(count, len(self.waiting_id)), self.timeout)
        except WaitTimeout:
            step = self._recv(1, None)
        return self._as_tianshou(step, range(len(step[0])))

    def _recv(self, count: int, timeout: float | None) -> LanesStep:
        try:
            step = self.env.recv(count, timeout)
        except WaitTimeout:
            raise
        except OpenEnvGymError as error:
            if not self.is_async:
                self._drop()
            elif error.lane is not None:
                self._are_ready([error.lane])
            raise
        self._are_ready(step[0].tolist())
        return step

    def _drop(self) -> None:
        """Waits for the other lanes of a step that failed, so that they can be reset."""
        self._unreported.update(self.waiting_id)
        self._are_ready(list(self.waiting_id))
        while True:
            try:
                self.env.recv()
            except NoAsyncCallError:
                return
            except OpenEnvGymError:
                continue

    def _are_ready(self, lanes: list[int]) -> None:
        self.waiting_id = [lane for lane in self.waiting_id if lane not in lanes]
        self.ready_id += lanes

    def _as_tianshou(self, step: LanesStep, rows: Sequence[int]) -> Step:
        lanes, observations, rewards, terminations, truncations, infos = step
        split = split_infos(infos, len(lanes))
        for lane, info in zip(lanes.tolist(), split, strict=True):
            info["env_id"] = lane
        chosen = list(rows)
        return (
            self._stacked(observations, len(lanes), chosen),
            rewards[chosen],
            terminations[chosen],
            truncations[chosen],
            _objects([split[row] for row in chosen]),
        )

    def _stacked(self, observations: Any, count: int, rows: Sequence[int]) -> NDArray[Any]:
        if isinstance(observations, np.ndarray):
            return observations[list(rows)]
        each = list(iterate(batch_space(self.env.single_observation_space, count), observations))
        chosen = [each[row] for row in rows]
        return _objects(chosen) if isinstance(chosen[0], dict) else np.array(chosen)

    def _lanes(self, ids: Ids) -> list[int]:
        lanes = list(range(self.env_num)) if ids is None else np.atleast_1d(np.asarray(ids)).tolist()
        if not all(isinstance(lane, int) and 0 <= lane < self.env_num for lane in lanes):
            raise ConfigurationError(f"There are the lanes 0 to {self.env_num - 1}, not {lanes!r:.80}.")
        return lanes

    def _idle(self, lanes: list[int]) -> list[int]:
        stepping = [lane for lane in lanes if lane in self.waiting_id]
        if stepping:
            raise ConfigurationError(f"Lanes {stepping} are stepping: take what they did by step(None) first.")
        return lanes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.env!r}>"


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
