"""The wheel, built from the sdist, installed in an environment of its own and used outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

PLAY = """
import gymnasium, openenv_gym, openenv_gym_registry
env = gymnasium.make("openenv/Blackjack-v0")
local = gymnasium.make("Blackjack-v1")
chooses = __import__("numpy").random.default_rng(0)
steps = 0
for episode in range(20):
    seed = 5 if episode == 0 else None
    (ours, _), (theirs, _) = env.reset(seed=seed), local.reset(seed=seed)
    over = False
    while not over:
        assert tuple(ours) == tuple(theirs), (episode, ours, theirs)
        action = int(chooses.integers(2))
        ours, reward, over, truncated, _ = env.step(action)
        theirs, expected, ended, _, _ = local.step(action)
        assert (reward, over, truncated) == (expected, ended, False)
        steps += 1
env.close()

envs = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=4)
hands, _ = envs.reset(seed=0)
for _ in range(10):
    hands, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
assert [len(part) for part in hands] == [4, 4, 4]
envs.close()
openenv_gym.shutdown()
print(openenv_gym_registry.__file__, steps)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as an index would get it: from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(REPOSITORY)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel, and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    interpreter = folder / "bin" / "python"
    command = [str(interpreter), "-m", "pip", "install", "--quiet", f"{wheel}[server]"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return interpreter


def run_outside(python: Path, code: str, cwd: Path, **environ: str) -> str:
    """Runs code with nothing of the checkout on the path; returns what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENENV"))}
    run = subprocess.run(
        [str(python), "-W", "error", "-c", code],
        cwd=cwd,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.strip()


def test_the_wheel_holds_the_projects_without_tests_and_caches(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for manifest in (REPOSITORY / "envs").glob("*/openenv.yaml"):
        name = manifest.parent.name
        root = f"openenv_gym_registry/projects/{name}"
        expected = ["openenv.yaml", "README.md", "pyproject.toml", "server/app.py", "server/Dockerfile"]
        expected += [f"{name}_env/{module}.py" for module in ("__init__", "app", "client", "environment", "models")]
        assert [path for path in expected if f"{root}/{path}" not in names] == []
    shipped = [name for name in names if not name.startswith("openenv_gym_cli/templates/")]
    # A project's own tests; the folders of that name inside its package are tasks.
    assert [name for name in shipped if "/tests/" in name and "_env/tasks/" not in name] == []
    assert "openenv_gym_registry/projects/terminal_git/terminal_git_env/tasks/tag-release/tests/test.sh" in shipped
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
    assert {"openenv_gym_registry/catalogue.json", "openenv_gym_registry/spaces.json"} <= set(names)


def test_every_import_package_is_in_the_wheel_typed(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in ("", "_protocol", "_server", "_registry", "_cli"):
        assert {f"openenv_gym{package}/__init__.py", f"openenv_gym{package}/py.typed"} <= names
    # No outer folder of the repository becomes an import name.
    tops = {name.partition("/")[0] for name in names}
    assert tops.isdisjoint({"server", "registry", "cli", "protocol", "envs", "tests", "echo_env", "blackjack_env"})


def test_the_templates_of_the_command_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = REPOSITORY / "cli" / "openenv_gym_cli" / "templates"
    kept = {f"openenv_gym_cli/templates/{path.relative_to(templates)}" for path in templates.rglob("*.tmpl")}
    assert len(kept) > 20
    assert kept <= names


def test_the_command_without_its_extra_prints_the_install_line(python: Path, tmp_path: Path) -> None:
    for name in ("openenv", "openenv-gym"):
        run = subprocess.run([python.parent / name, "list"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.endswith('pip install "openenv-gym[cli]"\n')


def test_the_catalogue_is_that_of_the_projects_in_the_wheel(python: Path, tmp_path: Path) -> None:
    run_outside(
        python, "import sys; from openenv_gym_registry.catalogue import main; sys.exit(main(['--check']))", tmp_path
    )


def test_the_bundled_blackjack_plays_outside_the_checkout(python: Path, tmp_path: Path) -> None:
    where, steps = run_outside(python, PLAY, tmp_path).split()
    assert not Path(where).is_relative_to(REPOSITORY)
    assert int(steps) > 20


def test_a_bundled_project_beats_an_installed_one_of_its_name(python: Path, tmp_path: Path) -> None:
    package = tmp_path / "site" / "blackjack_env"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the installed one')\n", encoding="utf-8")
    (package / "openenv.yaml").write_text("name: blackjack\n", encoding="utf-8")
    server = tmp_path / "site" / "server"
    server.mkdir()
    (server / "__init__.py").write_text("raise RuntimeError('the installed one')\n", encoding="utf-8")
    info = tmp_path / "site" / "openenv_gym_blackjack-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openenv-gym-blackjack\nVersion: 9\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[openenv_gym.environments]\nblackjack = blackjack_env\n", encoding="utf-8")
    site = next(python.parents[1].glob("lib/python3*/site-packages"))
    pointer = site / "installed_one.pth"
    pointer.write_text(f"{tmp_path / 'site'}\n", encoding="utf-8")
    code = (
        "import gymnasium, importlib.util, openenv_gym\n"
        "assert importlib.util.find_spec('blackjack_env')\n"
        "assert openenv_gym.register_installed() == []\n"
        "env = gymnasium.make('openenv/Blackjack-v0')\n"
        "print(env.reset(seed=1)[0])\n"
        "env.close()\n"
        "openenv_gym.shutdown()\n"
    )
    try:
        assert run_outside(python, code, tmp_path).startswith("(")
    finally:
        pointer.unlink()


def test_an_environments_own_wheel_installs_beside_and_registers(
    python: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = tmp_path / "puzzle"
    write_project_like_blackjack(project)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(project)]
    subprocess.run(build, check=True, capture_output=True, timeout=200)
    (built,) = tmp_path.glob("*.whl")
    target = tmp_path_factory.mktemp("target")
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(built)]
    subprocess.run(install, check=True, capture_output=True, timeout=200)
    code = (
        "import gymnasium, openenv_gym, sys\n"
        "print(*openenv_gym.register_installed())\n"
        "assert 'puzzle_env' not in sys.modules\n"
        "env = gymnasium.make('openenv/Puzzle-v0')\n"
        "print(env.reset(seed=1)[0] == gymnasium.make('Blackjack-v1').reset(seed=1)[0])\n"
        "env.close()\n"
        "openenv_gym.shutdown()\n"
    )
    assert run_outside(python, code, tmp_path, PYTHONPATH=str(target)).split() == ["openenv/Puzzle-v0", "True"]


def write_project_like_blackjack(project: Path) -> None:
    """Writes a project of another name that plays blackjack."""
    source = REPOSITORY / "envs" / "blackjack"
    for path in source.rglob("*"):
        if path.is_dir() or "__pycache__" in path.parts or "tests" in path.parts:
            continue
        target = project / str(path.relative_to(source)).replace("blackjack", "puzzle")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8").replace("blackjack", "puzzle").replace("Blackjack", "Puzzle")
        target.write_text(text, encoding="utf-8")
