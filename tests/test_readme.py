"""The README tells the truth: its programs run, and print what stands below them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import running_server

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
PROGRAMS = [text for language, text in BLOCKS if language == "python"]
OUTPUTS = [text for language, text in BLOCKS if language == "text"]


def _printed(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_first_screen_prints_what_it_shows() -> None:
    assert _printed(PROGRAMS[0] + PROGRAMS[1]) == OUTPUTS[0] + OUTPUTS[1]


def test_the_client_program_plays_a_hand() -> None:
    program = PROGRAMS[2]
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as server:
        printed = _printed(program.replace("http://localhost:8000", server.base_url))
    assert re.fullmatch(r"\(\d+, \d+, [01]\) -?[01]\.\d\n", printed)


def test_the_environment_program_is_served(tmp_path: Path) -> None:
    (guess,) = [program for program in PROGRAMS if "class GuessEnvironment" in program]
    (tmp_path / "guess.py").write_text(guess, encoding="utf-8")
    program = """
import sys, openenv_gym
with openenv_gym.GenericEnvClient(sys.argv[1]).sync() as client:
    print(client.reset(target=3).observation["hint"])
    print(client.step({"number": 5}).observation["hint"])
    print(client.step({"number": 3}).reward)
"""
    with running_server("guess:app", cwd=tmp_path) as server:
        printed = _printed(program.replace("sys.argv[1]", repr(server.base_url)))
    assert printed == "Guess a number.\nLower.\n1.0\n"


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
def test_what_the_readme_links_to_is_there(link: str) -> None:
    assert (ROOT / link).exists()
