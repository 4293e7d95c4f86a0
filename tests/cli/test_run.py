"""Without an engine; with one: ``tests/containers/test_command.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import invoked

ECHO = Path(__file__).parents[2] / "envs" / "echo"
NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}


@pytest.mark.parametrize("target", [ECHO, "openenv-echo:0.1.0"])
def test_where_no_engine_answers_that_is_said_with_what_to_do(target: str | Path) -> None:
    run = invoked("run", target, env=NOWHERE)
    assert (run.returncode, run.stdout) == (1, "")
    assert "no Docker engine answers at unix:///nowhere/docker.sock" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--option", "memroy=1g"), "'memory'"),
        (("--option", "memory"), "NAME=VALUE"),
        (("--option", "labels={"), "no JSON"),
        (("--option", "volumes=[1]"), "volumes"),
        (("--set", "=1"), "NAME=VALUE"),
        (("--engine", "nonsense"), "no engine's address"),
    ],
)
def test_wrong_input_is_refused_before_an_engine_is_asked(arguments: tuple[str, str], told: str) -> None:
    run = invoked("run", ECHO, *arguments, env=NOWHERE)
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_what_is_no_images_name_is_refused() -> None:
    run = invoked("run", "Not An Image", env=NOWHERE)
    assert run.returncode == 2
    assert "no image's name" in run.stderr


def test_a_folder_without_a_project_is_no_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = invoked("run", "./nothing", env=NOWHERE)
    assert run.returncode == 2
    assert "There is no folder" in run.stderr


def test_a_folder_is_named_in_every_way_that_a_source_is() -> None:
    run = invoked("run", f"path:{ECHO}", env=NOWHERE)
    assert run.returncode == 1
    assert "no Docker engine answers" in run.stderr
