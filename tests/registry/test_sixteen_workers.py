"""However many worker processes a vector environment has, they share one server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.trainers import python_or_skip

ROOT = Path(__file__).parents[2]


def _servers(python: str, *arguments: str) -> list[str]:
    # A root of its own: not a member of this process's pool.
    environ = {name: value for name, value in os.environ.items() if name != "OPENENV_GYM_POOL"}
    program = ROOT / "tests" / "support" / "programs" / "sixteen_workers.py"
    run = subprocess.run(
        [python, str(program), *arguments], env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    servers: list[str] = json.loads(run.stdout)
    return servers


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_sixteen_workers_of_an_async_vector_environment_share_one_server(context: str) -> None:
    servers = _servers(sys.executable, "async", context)
    assert len(servers) == 16
    assert len(set(servers)) == 1


@pytest.mark.trainers
def test_sixteen_workers_of_a_subproc_vec_env_share_one_server() -> None:
    servers = _servers(str(python_or_skip("stable-baselines3")), "subproc")
    assert len(servers) == 16
    assert len(set(servers)) == 1
