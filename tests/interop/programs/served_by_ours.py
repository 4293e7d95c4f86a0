"""The same environments, written for openenv and unchanged, under this project's server."""

from __future__ import annotations

from typing import Any

import counter
import probe
import scored
import stock_echo
from openenv_gym_server import create_app


def app(env: Any, **options: Any) -> Any:
    """An app for one of the probe's environments."""
    return create_app(
        env, probe.ProbeAction, probe.ProbeObservation, state_cls=probe.ProbeState, env_name="probe", **options
    )


probe_app = app(probe.ProbeEnvironment, max_concurrent_envs=64)
async_app = app(probe.AsyncEnvironment, max_concurrent_envs=64)
plain_app = app(probe.PlainEnvironment)
broken_app = app(probe.BrokenEnvironment)
production_app = app(probe.ProbeEnvironment, max_concurrent_envs=64, mode="production")
scored_app = create_app(
    scored.GuessEnvironment,
    scored.GuessAction,
    scored.GuessObservation,
    state_cls=scored.GuessState,
    env_name="guess",
    max_concurrent_envs=16,
)
counter_app = create_app(
    counter.CounterEnvironment,
    counter.CounterAction,
    counter.CounterObservation,
    env_name="counter",
    max_concurrent_envs=64,
)
echo_app = create_app(
    stock_echo.StockEcho,
    stock_echo.CallToolAction,
    stock_echo.CallToolObservation,
    env_name="echo_env",
    reset_observation_cls=stock_echo.Observation,
    max_concurrent_envs=16,
)
