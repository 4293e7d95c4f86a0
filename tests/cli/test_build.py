"""Without an engine; with one: ``tests/containers/test_command.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import invoked

ECHO = Path(__file__).parents[2] / "envs" / "echo"
NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}


def test_where_no_engine_answers_that_is_said_with_what_to_do() -> None:
    run = invoked("build", ECHO, env=NOWHERE)
    assert (run.returncode, run.stdout) == (1, "")
    assert "no Docker engine answers at unix:///nowhere/docker.sock" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--build-arg", "NAME"), "--build-arg is NAME=VALUE, not 'NAME'."),
        (("--engine", "nonsense"), "no engine's address"),
    ],
)
def test_wrong_input_is_refused(arguments: tuple[str, str], told: str) -> None:
    run = invoked("build", ECHO, *arguments, env=NOWHERE)
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr
