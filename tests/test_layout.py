"""The repository's shape: what the packaging, the type checker and the import contracts rely on."""

from __future__ import annotations

import ast
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))

OUTER_FOLDERS = ("protocol", "server", "registry", "cli", "envs", "tests", "examples", "benchmarks")
PACKAGES = (
    "openenv_gym",
    "protocol/openenv_gym_protocol",
    "server/openenv_gym_server",
    "registry/openenv_gym_registry",
    "cli/openenv_gym_cli",
)
ENVIRONMENTS = sorted(manifest.parent for manifest in (REPOSITORY / "envs").glob("*/openenv.yaml"))

MAX_FUNCTION_LINES = 60
MAX_MEDIAN_FUNCTION_LINES = 15
MAX_FILE_LINES = 400


def packages_of(project: Path) -> list[Path]:
    """The import packages of an environment project: its folders with an ``__init__.py``, but ``server``.

    OpenEnv's tools ask for ``server/__init__.py``; nothing imports that folder but uvicorn, inside its project.
    """
    return sorted(init.parent for init in project.glob("*/__init__.py") if init.parent.name != "server")


def sources() -> list[Path]:
    """Every module that is shipped: of our packages and of the environment projects."""
    roots = [REPOSITORY / package for package in PACKAGES]
    roots += [folder for project in ENVIRONMENTS for folder in (*packages_of(project), project / "server")]
    return sorted(path for root in roots for path in root.rglob("*.py"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each function of a module, without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = node.lineno
            assert node.end_lineno is not None
            documented = ast.get_docstring(node) is not None
            doc = node.body[0]
            doc_lines = (doc.end_lineno or 0) - doc.lineno + 1 if documented else 0
            yield node.name, node.end_lineno - start + 1 - doc_lines


SOURCES = sources()


def name_of(path: Path) -> str:
    """A path as it is seen from the repository."""
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("folder", OUTER_FOLDERS)
def test_an_outer_folder_is_no_package(folder: str) -> None:
    inside = [REPOSITORY / folder, *(REPOSITORY / folder).glob("*/tests")]
    assert [name_of(path) for path in inside if (path / "__init__.py").exists()] == []


def test_no_test_folder_is_a_package() -> None:
    projects = REPOSITORY / "tests" / "support" / "projects"
    found = (REPOSITORY / "tests").rglob("__init__.py")
    assert [path for path in found if not path.is_relative_to(projects)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_an_import_package_is_shipped_typed_and_known_to_the_checkers(package: str) -> None:
    tools = PROJECT["tool"]
    assert (REPOSITORY / package / "py.typed").is_file()
    assert package in tools["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert Path(package).name in tools["importlinter"]["root_packages"]
    outer = Path(package).parent
    assert str(outer) in tools["hatch"]["build"]["targets"]["wheel"]["dev-mode-dirs"]
    assert outer == Path() or str(outer) in tools["mypy"]["mypy_path"]


def test_there_are_environment_projects() -> None:
    assert {project.name for project in ENVIRONMENTS} >= {"echo", "blackjack"}


@pytest.mark.parametrize("project", ENVIRONMENTS, ids=lambda path: path.name)
def test_an_environment_project_is_known_to_every_tool(project: Path) -> None:
    tools = PROJECT["tool"]
    assert name_of(project) in tools["hatch"]["build"]["targets"]["wheel"]["dev-mode-dirs"]
    assert name_of(project) in tools["mypy"]["mypy_path"]
    for package in packages_of(project):
        assert (package / "py.typed").is_file()
        assert package.name in tools["importlinter"]["root_packages"]
        folders_contract = tools["importlinter"]["contracts"][0]
        assert package.name in folders_contract["layers"][0]


@pytest.mark.parametrize("project", ENVIRONMENTS, ids=lambda path: path.name)
def test_an_environment_project_has_the_one_shape(project: Path) -> None:
    expected = ["openenv.yaml", "pyproject.toml", "README.md", "server/app.py", "server/Dockerfile"]
    assert [name for name in expected if not (project / name).is_file()] == []
    assert len(packages_of(project)) == 1


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_is_short_and_so_are_its_functions(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= MAX_FILE_LINES
    assert {name: length for name, length in functions(path) if length > MAX_FUNCTION_LINES} == {}


def test_most_functions_fit_into_a_glance() -> None:
    lengths = [length for path in SOURCES for _, length in functions(path)]
    assert statistics.median(lengths) < MAX_MEDIAN_FUNCTION_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_every_marker_of_the_tests_is_declared_and_used() -> None:
    declared = {marker.partition(":")[0] for marker in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    text = "\n".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py"))
    assert {name for name in declared if f"pytest.mark.{name}" not in text} == set()
