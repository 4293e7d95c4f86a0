from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import psutil

from tests.cli.conftest import Machine
from tests.support.command import openenv
from tests.support.pools import all_end, has_ended, process_at, watchdogs_of


def test_what_a_running_program_uses_is_left_alone(machine: Machine) -> None:
    with machine.program() as (_, used):
        run = openenv("reap", env=machine.env)
        assert (run.returncode, run.stdout) == (0, "")
        assert not has_ended(process_at(used["base_url"]))


def test_what_a_dead_program_left_is_removed_and_told(machine: Machine) -> None:
    with machine.program() as (program, used):
        pool = Path(used["pool"])
        # All at once, so that none of them can clean up: as when the machine kills what uses its memory.
        watchdogs = watchdogs_of(pool)
        for process in (psutil.Process(program.pid), *watchdogs):
            process.suspend()
        for process in (psutil.Process(program.pid), *watchdogs):
            os.kill(process.pid, signal.SIGKILL)
        assert all_end(watchdogs)
        program.wait()
        assert pool.exists()
        run = openenv("reap", "--json", env=machine.env)
        assert run.returncode == 0
        assert json.loads(run.stdout) == [str(pool)]
        assert not pool.exists()
        assert "Nothing was left over." in openenv("reap", env=machine.env).stderr
