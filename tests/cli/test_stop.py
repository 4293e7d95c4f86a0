from __future__ import annotations

import os
import pty
import subprocess

import psutil
import pytest

from tests.cli.conftest import Machine
from tests.support.command import COMMAND, PATIENCE, environ, openenv
from tests.support.pools import has_ended, process_at


def test_anothers_server_is_not_stopped_unasked(machine: Machine) -> None:
    with machine.program() as (_, used):
        run = openenv("stop", used["id"], env=machine.env)
        assert (run.returncode, run.stdout) == (2, "")
        assert str(used["pid"]) in run.stderr
        assert "--yes" in run.stderr
        assert not has_ended(process_at(used["base_url"]))


@pytest.mark.parametrize(("answer", "code", "ends"), [("n", 2, False), ("\x04", 130, False), ("y", 0, True)])
def test_at_a_terminal_it_is_asked_for(machine: Machine, answer: str, code: int, ends: bool) -> None:
    typed, terminal = pty.openpty()
    with machine.program() as (_, used), os.fdopen(typed, "wb", buffering=0) as keyboard:
        server = process_at(used["base_url"])
        keyboard.write(f"{answer}\n".encode())
        run = subprocess.run(
            [*COMMAND, "stop", used["id"]],
            env=environ(machine.env),
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        os.close(terminal)
        assert run.returncode == code, run.stderr
        assert "lost? [y/N]" in run.stderr
        assert has_ended(server) == ends


def test_a_server_is_stopped_by_the_beginning_of_its_id_and_once(machine: Machine) -> None:
    with machine.program() as (_, used):
        server = process_at(used["base_url"])
        run = openenv("stop", used["id"][:6], used["id"], "--yes", env=machine.env)
        assert (run.returncode, run.stdout) == (0, f"{used['id']}\n")
        assert has_ended(server)


def test_a_server_is_stopped_by_its_process_id(machine: Machine) -> None:
    with machine.program() as (_, used):
        server = process_at(used["base_url"])
        assert openenv("stop", str(server.pid), "-y", env=machine.env).returncode == 0
        assert has_ended(server)


def test_a_name_that_nothing_has_is_refused_with_the_nearest(machine: Machine) -> None:
    with machine.program() as (_, used):
        wrong = used["id"][:-1] + ("0" if used["id"][-1] != "0" else "1")
        run = openenv("stop", wrong, "--yes", env=machine.env)
        assert (run.returncode, run.stdout) == (2, "")
        assert used["id"] in run.stderr
        assert psutil.pid_exists(process_at(used["base_url"]).pid)


def test_what_is_to_end_has_to_be_said(machine: Machine) -> None:
    for arguments in ([], ["some", "--all"]):
        run = openenv("stop", *arguments, env=machine.env)
        assert run.returncode == 2
        assert "--all" in run.stderr
