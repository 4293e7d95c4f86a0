"""EnvPool behind the vector wire: where it is installed, its lanes are the local ones."""

from __future__ import annotations

import numpy as np
import pytest

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.servers import running_server

envpool = pytest.importorskip("envpool", reason="EnvPool is not installed")

LANES = 16


# EnvPool builds its own float32 Box from float64 bounds, of which Gymnasium warns.
@pytest.mark.filterwarnings("ignore:.*precision lowered by casting.*:UserWarning")
def test_lanes_of_envpool_are_stepped_as_arrays_and_equal_the_local_ones() -> None:
    local = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=LANES, seed=7)
    with running_server("tests.support.apps.envpools:app") as server:
        remote = RemoteVectorEnv(server.base_url, num_envs=LANES, wire="vector")
        seen, _ = remote.reset(seed=7)
        expected, _ = local.reset()
        np.testing.assert_array_equal(seen, expected)
        ends = 0
        for count in range(200):
            actions = np.full(LANES, count % 2)
            rows, wanted = remote.step(actions), local.step(actions)
            for ours, theirs in zip(rows[:4], wanted[:4], strict=True):
                np.testing.assert_array_equal(ours, theirs)
            ends += int(rows[2].sum())
        assert ends > LANES
        remote.close()
    local.close()
