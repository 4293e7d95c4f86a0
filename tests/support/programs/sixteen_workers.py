"""Steps Blackjack in sixteen worker processes and prints the servers that they use, as JSON.

The first argument says by what: ``async`` and a start method for Gymnasium's AsyncVectorEnv, ``subproc`` for
Stable-Baselines3's SubprocVecEnv.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import gymnasium

import openenv_gym

WORKERS = 16


def make() -> gymnasium.Env[Any, Any]:
    """One environment."""
    return gymnasium.make("openenv/Blackjack-v0")


def servers_of_async(context: str) -> list[Any]:
    """What AsyncVectorEnv's workers use."""
    environments = gymnasium.vector.AsyncVectorEnv([make] * WORKERS, context=context)
    environments.reset(seed=0)
    environments.step(environments.action_space.sample())
    found = list(environments.call("server"))
    environments.close()
    return found


def servers_of_subproc() -> list[Any]:
    """What SubprocVecEnv's workers use; it takes no Tuple observations, so CartPole steps here."""
    # By name: it is installed where the trainers are, and not where this file is checked.
    vec_env = import_module("stable_baselines3.common.vec_env")
    environments = vec_env.SubprocVecEnv([lambda: gymnasium.make("openenv/CartPole-v1")] * WORKERS)
    environments.reset()
    environments.step([0] * WORKERS)
    found = list(environments.get_attr("server"))
    environments.close()
    return found


if __name__ == "__main__":
    servers = servers_of_subproc() if sys.argv[1] == "subproc" else servers_of_async(sys.argv[2])
    print(json.dumps(servers))
    openenv_gym.shutdown()
