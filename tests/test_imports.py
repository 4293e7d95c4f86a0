"""What an import loads: a trainer gets no web framework, a server no gymnasium, a client no server."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass

import pytest

HEAVY = {"docker", "fastapi", "fastmcp", "gradio", "huggingface_hub", "mcp", "pandas", "starlette", "torch", "uvicorn"}
"""Top-level names that nothing of the base install may load."""


@dataclass(frozen=True)
class Loaded:
    """What a fresh interpreter loaded for one import.

    Attributes:
        packages: Top-level names of all modules.
        modules: Their full names.
        cpu_seconds: User and system time of the interpreter.
    """

    packages: set[str]
    modules: set[str]
    cpu_seconds: float


def load(statement: str) -> Loaded:
    """Runs an import in an interpreter of its own."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    modules: set[str] = set(json.loads(done.stdout))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Loaded({name.partition(".")[0] for name in modules}, modules, seconds)


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import openenv_gym", HEAVY | {"openenv_gym_server", "openenv_gym_cli", "websockets", "httpx"}),
        ("import openenv_gym.client", HEAVY | {"openenv_gym_server", "openenv_gym_cli"}),
        ("from echo_env import EchoEnv", HEAVY | {"openenv_gym_server", "openenv_gym_cli"}),
        ("from openenv_gym import RemoteEnv, RemoteVectorEnv", HEAVY | {"openenv_gym_server", "openenv_gym_cli"}),
        ("import openenv_gym_protocol.client_session", HEAVY | {"numpy", "gymnasium", "openenv_gym", "asyncio"}),
        ("import openenv_gym_protocol.codec", HEAVY | {"numpy", "gymnasium", "openenv_gym", "asyncio"}),
        (
            "from openenv_gym_protocol.vector import lane_rules, payloads, requests",
            HEAVY | {"numpy", "gymnasium", "openenv_gym", "asyncio"},
        ),
        ("import openenv_gym_server", HEAVY | {"gymnasium", "openenv_gym", "openenv_gym_registry", "httpx"}),
        ("import echo_env", HEAVY | {"openenv_gym_server", "gymnasium"}),
        ("import blackjack_env", HEAVY | {"openenv_gym_server", "gymnasium"}),
        ("import grid_world_env", HEAVY | {"openenv_gym_server", "gymnasium"}),
        ("import gymnasium_env", HEAVY | {"openenv_gym_server", "gymnasium"}),
    ],
)
def test_an_import_loads_nothing_that_its_user_does_not_need(statement: str, forbidden: set[str]) -> None:
    assert load(statement).packages & forbidden == set()


def test_a_server_process_has_no_gymnasium_and_no_client() -> None:
    loaded = load("import openenv_gym_server.app")
    assert loaded.packages & {"gymnasium", "openenv_gym", "openenv_gym_registry", "websockets", "httpx"} <= {
        "websockets"  # uvicorn's own, when it brings it
    }


@pytest.mark.parametrize("module", ["openenv_gym", "openenv_gym.client", "openenv_gym_protocol.client_session"])
def test_an_import_is_quick(module: str) -> None:
    # The aim is half a second; what is asserted is that nothing heavy came back unseen.
    assert load(f"import {module}").cpu_seconds < 5
