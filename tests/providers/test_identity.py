from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_gym.providers import identity
from openenv_gym.providers.identity import is_running, place, start_time
from tests.support.descriptors import no_descriptor_left


@pytest.fixture(params=["procfs", "ps"])
def _source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where start times are read: systems without procfs ask ``ps``."""
    if request.param == "ps":
        monkeypatch.setattr(identity, "_PROCFS", Path("/nowhere"))


@pytest.mark.usefixtures("_source")
def test_a_running_process_is_known_by_its_id_and_start() -> None:
    started = start_time(os.getpid())
    assert started is not None
    assert is_running(os.getpid(), started)
    assert not is_running(os.getpid(), started + 1)


@pytest.mark.usefixtures("_source")
def test_a_process_that_ended_is_not_running_even_before_it_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    started = start_time(process.pid)
    assert started is not None
    assert process.stdin is not None
    assert process.stdout is not None
    process.kill()
    # The end of file comes with the process's end; only then is it a zombie.
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(process.pid) is None
    assert not is_running(process.pid, started)
    process.communicate()


def test_a_place_is_the_same_for_every_process_of_this_boot() -> None:
    program = "from openenv_gym.providers.identity import place; print(place())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == place()


def test_without_a_descriptor_nothing_is_said_of_processes_and_places() -> None:
    with no_descriptor_left():
        for ask in (lambda: start_time(os.getpid()), place):
            with pytest.raises(OSError, match="Too many open files"):
                ask()
