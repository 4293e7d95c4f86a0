"""CartPole as EnvPool steps it: all lanes in one call of its own thread pool."""

from __future__ import annotations

from typing import Any, ClassVar

import envpool
import numpy as np
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_server import create_app
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

from tests.support.apps.vectors import Pole, Push

_ONE = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=1)


class PooledCartPoles(VectorEnvironment[Push, Pole]):
    """EnvPool resets a finished lane in its next step, as NEXT_STEP says; it takes seeds when it is made only."""

    spaces: ClassVar[dict[str, Any] | None] = {
        "action": space_to_data(_ONE.action_space),
        "observation": space_to_data(_ONE.observation_space),
    }

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        del lanes, options
        self._pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=self.num_envs, seed=seeds[0] or 0)
        observations, _ = self._pool.reset()
        self._over = np.zeros(self.num_envs, bool)
        return ResetArrays(observations=observations)

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        observations, rewards, terminated, truncated, _ = self._pool.step(actions, lanes.astype(np.int32))
        resets, self._over = self._over, terminated | truncated
        return StepArrays(
            observations=observations,
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            reset_rows=resets,
        )


app = create_app(PooledCartPoles, Push, Pole, env_name="pooled_cart_poles")
