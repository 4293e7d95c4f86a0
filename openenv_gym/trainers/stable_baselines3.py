"""A vector environment as a ``VecEnv`` of Stable-Baselines3, which has none for Gymnasium's.

::

    envs = gymnasium.make_vec("openenv/CartPole-v1", num_envs=8, autoreset_mode="SameStep")
    model = PPO("MlpPolicy", VecMonitor(StableBaselines3VecEnv(envs)))

It needs Stable-Baselines3 (``pip install stable-baselines3``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError, NotOffered
from stable_baselines3.common.env_util import is_wrapped  # type: ignore[import-not-found, unused-ignore]
from stable_baselines3.common.vec_env import VecEnv  # type: ignore[import-not-found, unused-ignore]

from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.trainers.attributes import get_of, set_of
from openenv_gym.trainers.checks import check_numeric_spaces, check_vector_env
from openenv_gym.trainers.infos import same_step_infos, split_infos

Observations: TypeAlias = NDArray[Any] | dict[str, NDArray[Any]]

Indices: TypeAlias = int | Iterable[int] | None

_NAME = "Stable-Baselines3"


class StableBaselines3VecEnv(VecEnv):  # type: ignore[misc, unused-ignore]
    """A ``RemoteVectorEnv``, or any other vector environment of Gymnasium, for Stable-Baselines3's algorithms.

    A step is taken when it is waited for. Observations are arrays of shape ``(num_envs, ...)``, or a dict of them,
    rewards float32 and dones bool of shape ``(num_envs,)``. None of them is written to later.

    The info of a step has ``TimeLimit.truncated`` and, where an episode ended, ``terminal_observation``, the
    observation that it ended with. ``reset_infos`` has the info of each lane's last reset. Episodes are counted by
    Stable-Baselines3's ``VecMonitor`` around this, or by Gymnasium's vector wrapper ``RecordEpisodeStatistics`` within.

    Args:
        env: The environment. Its autoreset mode is SAME_STEP.

    Attributes:
        env: The environment.
        spec: Its spec, or None.
        reset_infos: One dict for each lane.

    Raises:
        ConfigurationError: Its autoreset mode is another one, or Stable-Baselines3 does not take its spaces.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        check_vector_env(_NAME, env, AutoresetMode.SAME_STEP)
        check_numeric_spaces(_NAME, env.single_observation_space, env.single_action_space)
        self.env = env
        self.spec = env.spec
        # What RemoteVectorEnv returns is new; others may reuse their arrays.
        self._is_new = isinstance(env.unwrapped, RemoteVectorEnv)
        self._actions: NDArray[Any] | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Observations:
        """Starts an episode in every lane, with the seeds and options that were set for this once.

        Raises:
            ConfigurationError: The options are not one dict for each lane.
            OpenEnvGymError: A lane failed; the error names it.
        """
        self._actions = None
        observations: Any = None
        for options, lanes in self._groups_of_options():
            seeds: Any = [self._seeds[lane] if lane in lanes else None for lane in range(self.num_envs)]
            if observations is not None:  # the first reset has to be one of all lanes
                options = {**options, "reset_mask": np.isin(np.arange(self.num_envs), lanes)}
            observations, infos = self.env.reset(
                seed=seeds if any(seed is not None for seed in seeds) else None, options=options or None
            )
            rows = split_infos(infos, self.num_envs)
            for lane in lanes:
                self.reset_infos[lane] = rows[lane]
        self._reset_seeds()
        self._reset_options()
        own: Observations = self._own(observations)
        return own

    def step_async(self, actions: NDArray[Any]) -> None:
        """Notes the actions, one for each lane, of the step that ``step_wait`` takes."""
        self._actions = actions

    def step_wait(self) -> tuple[Observations, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Takes a step in every lane, and resets those whose episode ends in it.

        Returns:
            The observations, which are those after the reset where an episode ended; the rewards; whether an episode
            ended; and one info for each lane.

        Raises:
            NoAsyncCallError: There are no actions.
            InvalidAction: An action is outside its space. Nothing was sent.
            OpenEnvGymError: A lane failed; the error names it.
        """
        if self._actions is None:
            raise NoAsyncCallError("Calling `step_wait` without any prior call to `step_async`.", "step")
        actions, self._actions = self._actions, None
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        dones = np.logical_or(terminations, truncations)
        rows, resets = same_step_infos(infos, dones)
        for lane, row in enumerate(rows):
            row["TimeLimit.truncated"] = bool(truncations[lane] and not terminations[lane])
            if lane in resets:
                row["terminal_observation"] = self._own(row.pop("final_obs"))
                self.reset_infos[lane] = resets[lane]
        return self._own(observations), np.array(rewards, np.float32), dones, rows

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Reads an attribute of the lanes; see ``RemoteVectorEnv.get_attr``."""
        return get_of(self.env.unwrapped, attr_name, self._lanes(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets an attribute of the lanes to one value; see ``RemoteVectorEnv.set_attr``."""
        set_of(self.env.unwrapped, attr_name, value, self._lanes(indices))

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of the lanes; see ``RemoteVectorEnv.call``.

        Raises:
            NotOffered: ``indices`` are not all lanes: a vector environment calls all of them.
        """
        lanes = self._lanes(indices)
        if set(lanes) != set(range(self.num_envs)):
            raise NotOffered(
                f"env_method({method_name!r}) cannot call lanes {lanes} alone: a vector environment calls all its "
                f"{self.num_envs} lanes. Leave out indices=."
            )
        vector: Any = self.env.unwrapped
        values = vector.call(method_name, *method_args, **method_kwargs)
        return [values[lane] for lane in lanes]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """Whether the lanes are wrapped so. What wraps a remote environment at its server is not asked for: False."""
        envs = getattr(self.env.unwrapped, "envs", None)
        return [envs is not None and is_wrapped(envs[lane], wrapper_class) for lane in self._lanes(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of every lane, uint8 of shape ``(height, width, 3)``; None without ``render_mode="rgb_array"``."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f"There are no pictures with render_mode={self.render_mode!r}: make the environment with "
                "render_mode='rgb_array'.",
                stacklevel=2,
            )
            return [None] * self.num_envs
        pictures: Any = self.env.render()
        return list(pictures or ())

    def _lanes(self, indices: Indices) -> list[int]:
        return [int(lane) for lane in self._get_indices(indices)]

    def _own(self, value: Any) -> Any:
        return value if self._is_new else deepcopy(value)

    def _groups_of_options(self) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """The reset options, and the lanes that they were set for: most often the same for all."""
        if len(self._options) != self.num_envs:
            raise ConfigurationError(
                f"set_options() takes a dict, or one for each of the {self.num_envs} lanes, not {len(self._options)}."
            )
        left = list(range(self.num_envs))
        while left:
            options = self._options[left[0]] or {}
            lanes = [lane for lane in left if (self._options[lane] or {}) == options]
            left = [lane for lane in left if lane not in lanes]
            yield dict(options), lanes
