"""The page about rollouts: its program prints what stands below it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields

from openenv_gym.rollouts import Limits
from tests.support.servers import ROOT

PAGE = (ROOT / "docs" / "how-to" / "rollouts.md").read_text(encoding="utf-8")


def blocks(language: str) -> str:
    """The blocks of a language, one after the other."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def test_the_program_prints_what_stands_below_it() -> None:
    command = [sys.executable, "-c", blocks("python")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == blocks("text")


def test_every_limit_is_listed() -> None:
    listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert {each.name for each in fields(Limits)} <= listed
