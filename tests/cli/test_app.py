from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_cli.app import COMMANDS, app, help_text
from openenv_gym_cli.exits import ExitCode
from typer.main import get_command
from typer.testing import CliRunner

from tests.support.command import COMMAND, openenv

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
HEAVY = {"docker", "fastapi", "gymnasium", "httpx", "huggingface_hub", "numpy", "openenv_gym", "openenv_gym_server"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_examples(name: str) -> None:
    run = CliRunner().invoke(app, [name, "--help"])
    assert (run.exit_code, run.stderr) == (0, "")
    assert f"$ openenv {name}" in run.stdout


def test_the_help_names_every_command() -> None:
    run = openenv("--help")
    told = {line.strip("│ ").partition(" ")[0] for line in run.stdout.splitlines()}
    assert set(COMMANDS) <= told


def test_the_page_lists_every_command_and_exit_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(COMMANDS) <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {int(code) for code in ExitCode}


def test_every_command_line_of_the_pages_is_taken() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (PAGE, ROOT / "README.md"))
    lines = [shlex.split(line) for line in re.findall(r"^\$ openenv (.+?)(?: +#.*)?$", pages, re.MULTILINE)]
    assert {name for name, *_ in lines} >= {"init", "serve", "build", "run"}
    commands: Any = get_command(app)
    for name, *arguments in lines:
        if name in COMMANDS:
            commands.get_command(None, name).make_context(name, arguments)


def test_the_help_loads_nothing_heavy() -> None:
    program = (
        "import json, sys\n"
        "from openenv_gym_cli.app import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}
    assert loaded & HEAVY == set()


def test_the_version_is_told() -> None:
    run = openenv("--version")
    assert (run.returncode, run.stdout) == (0, f"openenv-gym {importlib.metadata.version('openenv-gym')}\n")


def test_an_unknown_command_is_wrong_usage_that_names_the_nearest() -> None:
    run = openenv("serv")
    assert (run.returncode, run.stdout) == (2, "")
    assert "'serve'" in run.stderr


def test_an_error_is_a_sentence_and_a_traceback_only_where_one_is_asked_for() -> None:
    plain, debugging = openenv("serve", "/nowhere"), openenv("serve", "/nowhere", env={"OPENENV_GYM_DEBUG": "1"})
    assert (plain.returncode, plain.stdout, plain.stderr) == (2, "", "Error: There is no folder /nowhere.\n")
    assert "Traceback" in debugging.stderr


@pytest.mark.parametrize(("typed", "offered"), [("openenv se", {"serve", "search"}), ("openenv info ", set())])
def test_a_shell_is_told_what_can_follow(typed: str, offered: set[str]) -> None:
    words = typed.split()
    position = len(words) - (not typed.endswith(" "))
    completing = {"_OPENENV_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(position)}
    run = openenv(env=completing)
    told = set(run.stdout.split())
    assert (offered or {"openenv/Blackjack-v0", "openenv/Echo-v0"}) <= told


def test_a_shell_is_told_how_to_complete() -> None:
    # The shell is found among the processes around the command.
    script = shlex.join([*COMMAND, "--show-completion"]) + "; true"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "_OPENENV_COMPLETE=complete_bash" in run.stdout, run.stderr


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        run = subprocess.run(
            [*COMMAND, "list"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(write)
    assert "Traceback" not in run.stderr


def test_examples_stay_as_they_are_and_brackets_are_no_markup() -> None:
    def command() -> None:
        """Does [it].

        $ openenv it
        $ openenv it --twice
        """

    assert help_text(command) == "Does \\[it].\n\n\b\n$ openenv it\n$ openenv it --twice"
