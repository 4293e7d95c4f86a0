"""A trainer that ends says goodbye, though it closed nothing: no lanes linger."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest

from openenv_gym.bridge.lanes import farewells
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.servers import running_server

TRAINER = """
import sys
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.lanes import farewells
farewells.LONGEST = float(sys.argv[2])
env = RemoteVectorEnv(sys.argv[1], num_envs=2)
env.reset()
"""


@pytest.mark.parametrize(
    "end", ["", "raise SystemExit(3)", "1 / 0", "del env", "import weakref; weakref.finalize(env, print)"]
)
def test_a_trainer_that_ends_without_closing_leaves_no_lanes_behind(end: str) -> None:
    with running_server("tests.support.apps.recorded:app", env={"MAX_CONCURRENT_ENVS": "2"}) as server:
        # Said in time, however much else there is to do: what counts is that it is said.
        command = [sys.executable, "-c", TRAINER + end, server.base_url, "30"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert "CapacityReached" not in ended.stderr, ended.stderr
        # All that the server has is free.
        with closing(RemoteVectorEnv(server.base_url, num_envs=2)) as env:
            env.reset()
        assert "linger" not in server.log()


def test_a_server_that_does_not_answer_holds_up_the_end_for_a_moment_only() -> None:
    stopping = "import os, signal; os.kill(int(sys.argv[3]), signal.SIGSTOP)"
    with running_server("tests.support.apps.recorded:app") as server:
        command = [sys.executable, "-c", TRAINER + stopping, server.base_url, str(farewells.LONGEST), str(server.pid)]
        try:
            subprocess.run(command, timeout=60, check=True)
        finally:
            subprocess.run(["kill", "-CONT", str(server.pid)], check=True)
