from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.command import COMMAND, PATIENCE, environ, openenv

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_packages_the_command_prints_the_install_line(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from openenv_gym_cli.entry import main; main()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f'The openenv command needs {missing}: pip install "openenv-gym[cli]"\n'


def test_a_fault_of_the_commands_own_is_not_taken_for_a_missing_package() -> None:
    program = "import sys; sys.modules['openenv_gym_protocol'] = None; from openenv_gym_cli.entry import main; main()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert "pip install" not in run.stderr


def test_it_is_installed_by_both_names() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == dict.fromkeys(("openenv", "openenv-gym"), "openenv_gym_cli.entry:main")


def test_characters_that_a_streams_encoding_lacks_are_written_as_escapes(tmp_path: Path) -> None:
    for option in ((), ("--json",)):
        run = openenv("info", *option, tmp_path / "nö", env={"PYTHONIOENCODING": "ascii"})
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr == f"Error: There is no folder {tmp_path}/n\\xf6.\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_failure(closed: str) -> None:
    command = f"{shlex.join(COMMAND)} list {closed}"
    run = subprocess.run(["sh", "-c", command], env=environ({}), capture_output=True, timeout=PATIENCE, check=False)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", ["list", "list --json", "--help", "info openenv/Blackjack-v0"])
def test_who_reads_no_more_is_told_nothing(arguments: str) -> None:
    command = f"{shlex.join(COMMAND)} {arguments} | head -c 1"
    run = subprocess.run(["sh", "-c", command], env=environ({}), capture_output=True, timeout=PATIENCE, check=False)
    assert (len(run.stdout), run.stderr) == (1, b"")


def test_a_full_disk_is_said_in_a_sentence() -> None:
    command = f"{shlex.join(COMMAND)} list > /dev/full"
    run = subprocess.run(
        ["sh", "-c", command], env=environ({}), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert run.returncode == 1
    assert run.stderr.startswith("Error: No space left on device.")
