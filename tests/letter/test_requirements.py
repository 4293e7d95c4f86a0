"""The list of requirements and the tests are in step."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from tests.letter.requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent


def marked(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tests of a file, each with the requirements that its marks name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, tuple(id for decorator in node.decorator_list for id in _named(decorator))


def _named(decorator: ast.expr) -> list[str]:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func).rpartition(".")[2] != "requirement":
        return []
    return [ast.literal_eval(argument) for argument in decorator.args]


@functools.cache
def all_marks() -> dict[str, set[str]]:
    """Of every test of the repository that names requirements, which."""
    return {
        f"{path.relative_to(TESTS)}::{name}": set(ids)
        for path in sorted(TESTS.rglob("test_*.py"))
        for name, ids in marked(path)
        if ids
    }


def test_every_requirement_is_exercised() -> None:
    exercised = set().union(*all_marks().values())
    assert set(REQUIREMENTS) - exercised == set()


def test_every_mark_names_a_requirement() -> None:
    unknown = {test: ids - set(REQUIREMENTS) for test, ids in all_marks().items() if ids - set(REQUIREMENTS)}
    assert unknown == {}


def test_every_test_here_exercises_a_requirement() -> None:
    files = set(HERE.glob("test_*.py")) - {Path(__file__).resolve()}
    silent = [f"{path.name}::{name}" for path in files for name, ids in marked(path) if not ids]
    assert silent == []
