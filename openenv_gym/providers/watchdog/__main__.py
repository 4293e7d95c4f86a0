"""Runs the watchdog: ``python -I -S .../watchdog/__main__.py <pool directory>``.

Run by path, isolated and without site packages, so that neither the current folder nor an installed package
has a say in it and only what it needs is loaded.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path


def _stand_in_for_the_front_door() -> None:
    # The front door registers environments with Gymnasium and so loads numpy; the watchdog needs its modules only.
    package = types.ModuleType("openenv_gym")
    package.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["openenv_gym"] = package


if __name__ == "__main__":
    _stand_in_for_the_front_door()
    from openenv_gym.providers.watchdog.main import main

    main(sys.argv[1])
