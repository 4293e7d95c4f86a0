from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from openenv_gym_cli.scaffold import make_project, new_project
from openenv_gym_protocol.errors import ConfigurationError

import openenv_gym
from tests.support.command import COMMAND, environ, openenv, running_openenv

TEMPLATES = ("typed", "mcp", "gymnasium")
ACTIONS = {"typed": 1, "mcp": {"tool_name": "guess", "arguments": {"number": 7}}, "gymnasium": [0.5]}


@pytest.fixture(scope="module", params=TEMPLATES)
def template(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def made(template: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of each template, by the command."""
    folder = tmp_path_factory.mktemp("made")
    run = openenv("init", f"walk_{template}", "--template", template, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{folder / f'walk_{template}'}\n"
    return folder / f"walk_{template}"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def inside(project: Path, *command: str) -> str:
    """Runs a tool in a project, as its author does; returns what it printed."""
    run = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=environ({}),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_a_project_passes_its_own_tests(made: Path) -> None:
    assert "passed" in inside(made, "pytest", "-q", "-p", "no:cacheprovider")


def test_a_project_passes_ruff(made: Path) -> None:
    inside(made, "ruff", "check", "--no-cache", ".")
    inside(made, "ruff", "format", "--no-cache", "--check", ".")


def test_a_project_passes_mypy(made: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    # One cache for all of them: what they import is the same.
    cache = tmp_path_factory.getbasetemp() / "mypy"
    assert "no issues found" in inside(made, "mypy", "--cache-dir", str(cache))


def test_the_longest_name_fits_into_the_lines(template: str, tmp_path: Path) -> None:
    name = "a" + "_b1" * 11 + "_c"
    assert len(name) == 36
    project = make_project(new_project(name, template, tmp_path / "game"))
    inside(project, "ruff", "check", "--no-cache", ".")
    inside(project, "ruff", "format", "--no-cache", "--check", ".")


def test_a_project_is_registered_and_stepped_by_its_id(made: Path, template: str) -> None:
    id = openenv_gym.register_local(made)
    try:
        assert id == f"openenv/Walk{template.capitalize()}-v0"
        env = gymnasium.make(id)
        env.reset(seed=1)
        _, reward, *_ = env.step(ACTIONS[template])
        assert isinstance(reward, float)
        env.close()
    finally:
        gymnasium.registry.pop(id)


def test_a_project_is_served_and_stepped_by_the_line_that_is_printed(made: Path, template: str, tmp_path: Path) -> None:
    with running_openenv("serve", made, "--port", "0", folder=tmp_path) as serving:
        base_url, line = serving.line(), serving.line()
        assert base_url in line, serving.errors()
        env = eval(line, {"gymnasium": gymnasium})
        env.reset(seed=1)
        env.step(ACTIONS[template])
        env.close()


def test_a_project_has_what_an_image_and_a_space_need(made: Path) -> None:
    readme = (made / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("---\ntitle: Walk ")
    assert "\nsdk: docker\n" in readme.split("---")[1]
    assert "\napp_port: 8000\n" in readme.split("---")[1]
    assert "  - openenv\n" in readme.split("---")[1]
    assert {".gitignore", ".dockerignore", "openenv.yaml", "pyproject.toml"} <= set(names(made))
    bundled = Path(__file__).parents[2] / "envs" / "echo"
    for name in ("server/Dockerfile", ".dockerignore"):
        assert (made / name).read_bytes() == (bundled / name).read_bytes()


def test_nothing_of_the_template_is_left_over_in_a_project(made: Path) -> None:
    files = [path for path in made.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix not in (".pyc",)}
    assert [
        path for path, text in texts.items() if "{{" in text or ".tmpl" in path.name or "PACKAGE" in str(path)
    ] == []
    assert sorted(path.name for path in made.parent.iterdir()) == [made.name]


def test_a_folder_may_be_named_apart(tmp_path: Path) -> None:
    run = openenv("init", "game", "--path", tmp_path / "elsewhere")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "elsewhere" / "game_env" / "environment.py").is_file()
    assert names(tmp_path) == ["elsewhere"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-Game", "You may mean my_game."),
        ("MyGame", "You may mean my_game."),
        ("../game", "You may mean game."),
        ("/tmp/game", "You may mean tmp_game."),
        ("a/b", "You may mean a_b."),
        ("..", "cannot be a project's name"),
        ("", "cannot be a project's name"),
        ("2048", "cannot be a project's name"),
        ("game\n", "You may mean game."),
        ("jeu_été", "cannot be a project's name"),
        ("a" * 37, "at most 36 long"),
        ("class", "means something else"),
        ("server", "means something else"),
        ("blackjack", "openenv/Blackjack-v0 is another environment already"),
        ("space_env", "openenv/Space-v0 is another environment already"),
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        new_project(name, "typed", tmp_path / "target")
    assert told in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_the_command_ends_a_bad_name_with_a_sentence_and_2(tmp_path: Path) -> None:
    run = openenv("init", "../game", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "You may mean game." in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_left_as_it_is(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "game"
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.write_text("mine", encoding="utf-8")
    else:
        target.symlink_to(tmp_path / "nowhere")
    run = openenv("init", "game", cwd=tmp_path)
    assert run.returncode == 2
    assert "exists already" in run.stderr
    assert names(tmp_path) == ["game"]
    assert target.is_symlink() == (kind == "link")
    assert target.is_symlink() or target.is_dir() or target.read_text(encoding="utf-8") == "mine"


def test_a_missing_folder_around_is_named(tmp_path: Path) -> None:
    run = openenv("init", "game", "--path", tmp_path / "missing" / "game")
    assert run.returncode == 2
    assert f"There is no folder {tmp_path / 'missing'}" in run.stderr


def test_what_comes_to_its_place_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    project = new_project("game", "typed", tmp_path / "game")
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "mine").touch()
    with pytest.raises(ConfigurationError, match="cannot be made"):
        make_project(project)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["game", "game/mine"]


def test_a_disk_without_room_leaves_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [*COMMAND, "init", "game"],
        cwd=tmp_path,
        env=environ({"PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900)),
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert "cannot be made: File too large" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for path in ("~nobody-of-that-name/x", tmp_path / ("a" * 300) / "b", tmp_path / "n\udcff"):
        with pytest.raises(ConfigurationError, match="cannot be a project's folder"):
            new_project("walk", "typed", Path(path))
    assert names(tmp_path) == []


def test_the_next_step_is_what_a_shell_takes(tmp_path: Path) -> None:
    run = openenv("init", "walk", "--path", "my walk", cwd=tmp_path)
    assert "  cd 'my walk'\n" in run.stderr
