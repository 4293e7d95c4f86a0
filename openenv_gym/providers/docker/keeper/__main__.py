"""Runs the keeper: ``python -P .../keeper/__main__.py <pool directory>``, a socket to the watchdog as standard input.

``DOCKER_HOST`` names the engine.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path


def _stand_in_for_the_front_door() -> None:
    # The front door registers environments with Gymnasium and so loads numpy; the keeper needs its own modules only.
    package = types.ModuleType("openenv_gym")
    package.__path__ = [str(Path(__file__).resolve().parents[3])]
    sys.modules["openenv_gym"] = package


if __name__ == "__main__":
    _stand_in_for_the_front_door()
    from openenv_gym.providers.docker.keeper.main import main

    main(sys.argv[1])
