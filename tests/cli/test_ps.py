from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine
from tests.support.command import openenv

ECHO = Path(__file__).parents[2] / "envs" / "echo"


def test_a_server_is_listed_with_its_project_address_and_owner(machine: Machine) -> None:
    with machine.program() as (_, used):
        run = openenv("ps", "--json", env=machine.env)
        (told,) = [each for each in json.loads(run.stdout) if each["id"] == used["id"]]
        assert (told["kind"], told["state"]) == ("process", "running")
        assert (told["what"], told["base_url"]) == (str(ECHO), used["base_url"])
        assert told["owner"].startswith(f"{used['pid']} ")
        assert "server_user.py" in told["owner"]
        table = openenv("ps", env=machine.env).stdout
        assert used["id"] in table
        assert used["base_url"] in table


def test_where_no_engine_answers_that_is_said_beside_the_data(machine: Machine) -> None:
    run = openenv("ps", "--json", env=machine.env)
    assert run.returncode == 0
    assert isinstance(json.loads(run.stdout), list)
    assert "Containers are not listed." in run.stderr
    assert "no-engine" in run.stderr


@pytest.mark.parametrize("command", ["ps", "reap"])
def test_an_engine_that_was_named_and_is_none_is_wrong_input(machine: Machine, command: str) -> None:
    run = openenv(command, "--engine", "nonsense", env=machine.env)
    assert (run.returncode, run.stdout) == (2, "")
    assert "no engine's address" in run.stderr
