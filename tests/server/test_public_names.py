from __future__ import annotations

import subprocess
import sys

import openenv_gym_server


def test_every_public_name_can_be_had() -> None:
    assert {name for name in openenv_gym_server.__all__ if getattr(openenv_gym_server, name, None) is None} == set()
    assert set(openenv_gym_server._HOMES) == set(openenv_gym_server.__all__)
    assert set(openenv_gym_server.__all__) <= set(dir(openenv_gym_server))


def test_models_and_environments_are_imported_without_the_web_framework() -> None:
    program = (
        "import sys; from openenv_gym_server import Action, Environment, Observation, State, MCPEnvironment; "
        "print(sorted({'fastapi', 'uvicorn', 'numpy', 'gymnasium', 'websockets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
