"""No trainer's module is loaded by whoever does not ask for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("statement", ["import openenv_gym", "import openenv_gym.trainers, openenv_gym.bridge.vector"])
def test_the_modules_of_trainers_are_loaded_by_their_names_only(statement: str) -> None:
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert [name for name in json.loads(done.stdout) if name.startswith("openenv_gym.trainers.")] == []
