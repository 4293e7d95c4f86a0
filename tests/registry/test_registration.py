"""What an import registers, and what is registered on request."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.catalogue import catalogue, known_spaces
from openenv_gym_registry.projects import bundled_project
from openenv_gym_registry.registration import REMOTE_ID, SPACE_ID, register_all, register_local


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Iterator[None]:
    register_all()
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that looks like an environment project."""
    folder = tmp_path / "my_grid_env"
    (folder / "server").mkdir(parents=True)
    (folder / "server" / "app.py").touch()
    (folder / "openenv.yaml").write_text("name: my_grid_env\n", encoding="utf-8")
    return folder


def ours() -> set[str]:
    return {id for id in gymnasium.registry if id.startswith("openenv/")}


def run_python(code: str) -> str:
    """Runs code in a fresh interpreter whose warnings are errors; returns what it printed."""
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_import_registers_bundled_environments_spaces_and_remote() -> None:
    listed = run_python("import openenv_gym, gymnasium, json; print(json.dumps(list(gymnasium.registry)))")
    bundled = {each.id for entry in catalogue().values() for each in (entry, *entry.variants)}
    expected = bundled | {known.id for known in known_spaces()} | {REMOTE_ID, SPACE_ID}
    assert {id for id in json.loads(listed) if id.startswith("openenv/")} == expected
    assert {"openenv/Echo-v0", "openenv/CartPole-v1", "openenv/echo_env", "openenv/Remote-v0"} <= expected


def test_the_import_reads_no_other_files_and_opens_no_socket() -> None:
    opened = run_python(
        "import sys, gymnasium, json\n"
        "seen = []\n"
        "sys.addaudithook(lambda name, args: seen.append([name, str(args[0])]) if name in\n"
        "    ('open', 'os.listdir', 'os.scandir', 'glob.glob', 'socket.connect', 'socket.getaddrinfo',\n"
        "     'subprocess.Popen', 'os.fork') else None)\n"
        "import openenv_gym\n"
        "print(json.dumps(seen))"
    )
    events = json.loads(opened)
    data = {Path(path).name for name, path in events if name == "open" and not path.endswith((".py", ".pyc"))}
    assert data == {"catalogue.json", "spaces.json"}
    # Looking for a module lists the folders of sys.path; nothing below envs/ or projects/ is among them.
    listed = {path for name, path in events if name in ("os.listdir", "os.scandir", "glob.glob")}
    assert not [path for path in listed if Path(path).name in ("envs", "projects")]
    assert not [name for name, _ in events if name.startswith(("socket", "subprocess", "os.fork"))]


def test_importing_twice_warns_of_nothing_and_keeps_what_a_user_put_there() -> None:
    out = run_python(
        "import gymnasium, sys\n"
        "gymnasium.register('openenv/Echo-v0', entry_point='mine:Env')\n"
        "import openenv_gym, importlib\n"
        "importlib.reload(openenv_gym)\n"
        "for name in [m for m in sys.modules if m.startswith('openenv_gym')]: del sys.modules[name]\n"
        "import openenv_gym\n"
        "print(gymnasium.registry['openenv/Echo-v0'].entry_point)"
    )
    assert out.strip() == "mine:Env"


@pytest.mark.parametrize("id", ["openenv/Blackjack-v0", "openenv/echo_env", "openenv/Space-v0", "openenv/Remote-v0"])
def test_specs_survive_json_and_pickle(id: str) -> None:
    spec = gymnasium.spec(id)
    again = EnvSpec.from_json(spec.to_json())
    assert again == spec == pickle.loads(pickle.dumps(spec))
    assert isinstance(again.entry_point, str)
    assert isinstance(again.vector_entry_point, str)


def test_a_wrong_name_gets_gymnasiums_suggestion() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="Blackjack"):
        gymnasium.spec("openenv/Blackjak-v0")


def test_a_folder_gets_the_id_its_name_makes(project: Path) -> None:
    assert register_local(project) == "openenv/MyGrid-v0"
    assert gymnasium.spec("openenv/MyGrid-v0").kwargs == {"path": str(project)}


def test_a_folder_gets_the_id_and_the_limit_its_manifest_declares(project: Path) -> None:
    manifest = (
        "name: my_grid_env\nx-openenv-gym: {id: openenv/Grid-v7, max_episode_steps: 12, nondeterministic: true}\n"
    )
    (project / "openenv.yaml").write_text(manifest, encoding="utf-8")
    assert register_local(str(project)) == "openenv/Grid-v7"
    spec = gymnasium.spec("openenv/Grid-v7")
    assert (spec.max_episode_steps, spec.nondeterministic) == (12, True)


def test_an_id_can_be_chosen(project: Path) -> None:
    assert register_local(project, id="mine/Grid-v1") == "mine/Grid-v1"
    assert "mine/Grid-v1" in gymnasium.registry


def test_the_same_folder_again_takes_its_new_manifest_without_a_warning(project: Path) -> None:
    register_local(project)
    (project / "openenv.yaml").write_text(
        "name: my_grid_env\nx-openenv-gym: {max_episode_steps: 3}\n", encoding="utf-8"
    )
    register_local(project)
    assert gymnasium.spec("openenv/MyGrid-v0").max_episode_steps == 3


def test_the_id_of_another_environment_is_not_taken(project: Path) -> None:
    (project / "openenv.yaml").write_text("name: echo\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="id=") as caught:
        register_local(project)
    assert gymnasium.spec("openenv/Echo-v0").kwargs == {"project": "echo"}
    (line,) = re.findall(r"register_local\(.*\)", str(caught.value))
    assert eval(line, {"register_local": register_local}) in gymnasium.registry


def test_a_bundled_projects_own_folder_has_its_id_already() -> None:
    folder = bundled_project("blackjack")
    before = ours()
    assert register_local(folder) == "openenv/Blackjack-v0"
    assert ours() == before
    assert register_local(folder, id="mine/Blackjack-v3") == "mine/Blackjack-v3"


@pytest.mark.parametrize("missing", ["openenv.yaml", "server/app.py"])
def test_a_folder_that_is_no_project_registers_nothing(project: Path, missing: str) -> None:
    (project / missing).unlink()
    before = ours()
    with pytest.raises(ConfigurationError, match=missing):
        register_local(project)
    assert ours() == before
