from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import openenv

NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}


def test_a_machine_that_has_what_is_needed_is_well() -> None:
    run = openenv("doctor", "--json", env=NOWHERE)
    findings = {each["part"]: each for each in json.loads(run.stdout)}
    assert run.returncode == 0, run.stdout
    assert findings["server"]["is_there"]
    assert not findings["engine"]["is_there"]
    assert {"python", "openenv-gym", "engine", "port", "token", "cache"} <= findings.keys()


def test_what_is_needed_and_missing_is_a_failure_with_its_remedy() -> None:
    run = openenv("doctor", "--need", "engine", env=NOWHERE)
    assert run.returncode == 1
    assert "MISSING  engine" in run.stdout
    assert "unix:///nowhere/docker.sock" in run.stderr
    assert "Start it" in run.stderr


@pytest.mark.parametrize(("value", "told"), [("secret-t0ken", "is set"), ("", "is not set")])
def test_a_token_is_looked_for_and_never_told(value: str, told: str) -> None:
    run = openenv("doctor", env={**NOWHERE, "OPENENV_GYM_TOKEN": value})
    assert f"OPENENV_GYM_TOKEN {told}" in run.stdout
    assert "secret" not in run.stdout + run.stderr


def test_a_cache_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run = openenv("doctor", env={**NOWHERE, "OPENENV_GYM_CACHE": str(tmp_path / "file")})
    assert run.returncode == 1
    assert "OPENENV_GYM_CACHE" in run.stderr


def test_an_unknown_part_names_the_nearest() -> None:
    run = openenv("doctor", "--need", "engin")
    assert (run.returncode, run.stdout) == (2, "")
    assert "'engine'" in run.stderr


def test_a_cache_that_is_open_to_everybody_is_a_failure(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    run = openenv("doctor", env={**NOWHERE, "OPENENV_GYM_CACHE": str(tmp_path)})
    assert run.returncode == 1
    assert "open to everybody" in run.stdout


def test_a_token_of_the_hub_that_cannot_be_sent_is_told_and_not_shown() -> None:
    run = openenv("doctor", "--need", "hub token", env={**NOWHERE, "HF_TOKEN": "hf_\x01secret"})
    assert run.returncode == 1
    assert "cannot be sent" in run.stdout
    assert "secret" not in run.stdout + run.stderr
