from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import openenv_gym_protocol
from openenv_gym_protocol.release import product


def test_the_release_is_the_installed_one() -> None:
    assert product() == f"openenv-gym/{version('openenv-gym')}"


def test_from_a_folder_that_is_not_installed_it_is_unknown() -> None:
    root = Path(openenv_gym_protocol.__file__).parents[1]
    program = "from openenv_gym_protocol.release import product; print(product())"
    # Isolated and without site-packages, so that no installed distribution is found.
    code = f"import sys; sys.path.insert(0, {str(root)!r}); {program}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "openenv-gym/0"
