"""The environments with the real openenv: what is in them, and what happens where none can be made."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from tests.support.stock import CURRENT, StockEnvironment, StockUnavailable, stock_environment

pytestmark = pytest.mark.interop


def test_the_release_asked_for_is_the_release_inside(stock: StockEnvironment) -> None:
    assert stock.version == CURRENT


def test_openenv_is_alone_in_its_environment(stock: StockEnvironment, tmp_path: Path) -> None:
    program = "import importlib.util as u; print(u.find_spec('openenv_gym'), u.find_spec('openenv_gym_server'))"
    command = [str(stock.python), "-c", program]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.split() == ["None", "None"]


def test_openenv_is_not_installed_beside_the_tests() -> None:
    assert importlib.util.find_spec("openenv") is None


def test_a_release_that_cannot_be_installed_is_told_with_pips_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENENV_GYM_VENVS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for _ in range(2):
        with pytest.raises(StockUnavailable, match=r"openenv==0\.0\.1"):
            stock_environment("0.0.1")
