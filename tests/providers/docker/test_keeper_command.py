from __future__ import annotations

import sys
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.keeper_command import keeper_command


def test_the_keeper_is_run_by_path_in_this_interpreter() -> None:
    argv, _ = keeper_command("unix:///engine")
    assert argv[0] == sys.executable
    assert Path(argv[-1]).is_file()


def test_the_engine_that_was_asked_for_is_the_keepers_too() -> None:
    environ = {"DOCKER_HOST": "unix:///other"}
    assert keeper_command("unix:///engine", environ)[1]["DOCKER_HOST"] == "unix:///engine"
    assert keeper_command(None, environ)[1]["DOCKER_HOST"] == "unix:///other"


def test_nothing_is_handed_on_that_the_keeper_does_not_need() -> None:
    environ = {"HF_TOKEN": "secret", "PATH": "/bin", "DOCKER_CERT_PATH": "/certs", "OPENENV_GYM_TOKEN": "secret"}
    _, env = keeper_command("tcp://engine", environ)
    assert env == {"PATH": "/bin", "DOCKER_CERT_PATH": "/certs", "DOCKER_HOST": "tcp://engine"}


def test_what_this_process_imports_from_the_keeper_finds_in_its_own_folder(tmp_path: Path) -> None:
    _, env = keeper_command("tcp://engine", {"PYTHONPATH": f"src:{tmp_path}"})
    assert env["PYTHONPATH"] == f"{Path.cwd() / 'src'}:{tmp_path}"


def test_an_interpreter_that_is_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ProviderError, match=r"sys\.executable"):
        keeper_command(None, {})
