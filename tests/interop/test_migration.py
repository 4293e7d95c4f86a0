"""Projects that were written against openenv, as they are and after the imports of docs/migrating-from-openenv.md.

Both are driven by the same program, by their own clients, each in a process of its own.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env

import openenv_gym
from tests.interop.conftest import available
from tests.support.comparing import Compared
from tests.support.stock import REPOSITORY, StockEnvironment, play, serving

PROJECTS = REPOSITORY / "tests" / "support" / "projects" / "migration"
PAGE = REPOSITORY / "docs" / "migrating-from-openenv.md"
NAMES = ("number_line", "ledger", "essay")
LEAST = {"number_line": 10, "ledger": 12, "essay": 12}
"""How many calls each drive makes at least."""

TOOL_CALLS = 7
"""How many tools the drive of the ledger calls before it asks for the state, those that fail included."""

_IMPORTS = re.compile(r"^\s*(?:from|import) +([\w.]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The projects after the program of the page went over them."""
    folder = tmp_path_factory.mktemp("moved") / "projects"
    shutil.copytree(PROJECTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    _program()["port"](folder)
    return folder


def _program() -> dict[str, Any]:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    return names


def _driven(python: Path | str, folder: Path, name: str) -> list[Any]:
    """What a project's own client sees at its own server, call by call."""
    with serving(python, ["server.app:app"], cwd=folder / name) as urls:
        return play(python, str(folder / "drive.py"), name, urls["server.app:app"], timeout=240)


@cache
def _before(python: Path, name: str) -> list[Any]:
    """What is seen of a project as it is; openenv takes its time to import."""
    return _driven(python, PROJECTS, name)


def _interpreter(name: str) -> Path | str:
    # FastMCP is the ledger's own requirement, which is where openenv is. The others run where no openenv could help.
    return available(with_ours=True).python if name == "ledger" else sys.executable


def _serve_by_ours(app: Path) -> None:
    """Changes the import of ``create_app``, and of nothing else."""
    lines = app.read_text(encoding="utf-8").splitlines(keepends=True)
    ported = [_program()["ported"](line) if line.rstrip().endswith("import create_app") else line for line in lines]
    assert ported != lines
    app.write_text("".join(ported), encoding="utf-8")


def _take_step_count(told: list[Any]) -> int:
    """Takes the steps of the ledger's state out of what was told: what counts as one differs, as the page says."""
    (state,) = [line["fields"] for line in told if "step_count" in line.get("fields", {})]
    return int(state.pop("step_count"))


def _compare(name: str, before: list[Any], after: list[Any], steps: int = TOOL_CALLS) -> None:
    assert len(before) >= LEAST[name]
    if name == "ledger":
        # openenv's client calls tools past step, so that its environments cannot count the calls.
        assert (_take_step_count(before), _take_step_count(after)) == (0, steps)
    assert [_without_components(line) for line in after] == before


def _without_components(told: Any) -> Any:
    """What was told without what rubrics here add to the metadata, as the page says."""
    if isinstance(told, dict):
        added = ("reward_components.", "step_rewards")
        return {key: _without_components(value) for key, value in told.items() if not key.startswith(added)}
    return [_without_components(each) for each in told] if isinstance(told, list) else told


@pytest.mark.interop
@pytest.mark.parametrize("name", NAMES)
def test_a_moved_project_tells_its_client_the_same(
    name: str, moved: Path, stock: StockEnvironment, compared: Compared
) -> None:
    before = deepcopy(_before(stock.python, name))
    after = _driven(_interpreter(name), moved, name)
    _compare(name, before, after)
    compared.add(len(before))


@pytest.mark.interop
@pytest.mark.parametrize("name", NAMES)
def test_the_environment_is_served_before_anything_but_its_app_is_moved(
    name: str, stock: StockEnvironment, compared: Compared, tmp_path: Path
) -> None:
    shutil.copytree(PROJECTS, tmp_path / "half")
    _serve_by_ours(tmp_path / "half" / name / "server" / "app.py")
    before = deepcopy(_before(stock.python, name))
    after = _driven(available(with_ours=True).python, tmp_path / "half", name)
    _compare(name, before, after, TOOL_CALLS + 1)  # openenv's environments list their tools by a step
    compared.add(len(before))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_imports_changes_and_none_of_openenv_is_left(name: str, moved: Path) -> None:
    paths = sorted((PROJECTS / name).rglob("*.py"))
    changed = 0
    for path in paths:
        before = path.read_text(encoding="utf-8").splitlines()
        after = (moved / path.relative_to(PROJECTS)).read_text(encoding="utf-8").splitlines()
        for old, new in zip(before, after, strict=True):
            if old != new:
                changed += 1
                assert old.lstrip().startswith("from openenv.")
                assert old.split(" import ")[1] == new.split(" import ")[1]
        imported = {found.partition(".")[0] for found in _IMPORTS.findall("\n".join(after))}
        assert "openenv" not in imported
    assert changed >= 3


def test_a_moved_project_is_a_gymnasium_environment_too(moved: Path) -> None:
    id_ = openenv_gym.register_local(moved / "number_line")
    env: Any = gymnasium.make(id_, disable_env_checker=True)
    try:
        assert env.action_space == Discrete(5)
        check_env(env.unwrapped, skip_render_check=True)
        before, _ = env.reset(seed=3)
        after, reward, *_ = env.step(4)  # two places to the right: trainers count actions from 0
        assert after["place"] - before["place"] == 2
        assert reward == before["distance"] - after["distance"]
    finally:
        env.close()
        gymnasium.registry.pop(id_)


def test_every_module_of_the_table_has_the_names_it_is_said_to_have() -> None:
    modules: dict[str, str] = _program()["MODULES"]
    imports: Callable[[str], Any] = __import__
    for home in set(modules.values()):
        assert imports(home)
    page = PAGE.read_text(encoding="utf-8")
    for names, home in re.findall(r"^\| (`[A-Z][^|]*) \| `(openenv_gym[\w.]*)` \|$", page, re.MULTILINE):
        module = __import__(home, fromlist=["*"])
        for name in re.findall(r"`(\w+)`", names):
            assert hasattr(module, name), f"{home}.{name}"
