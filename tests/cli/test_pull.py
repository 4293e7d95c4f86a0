"""``openenv pull`` and ``openenv fork``, by the real huggingface_hub."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import openenv
from tests.support.hub.running_spaces import running_spaces
from tests.support.hub.server import running_hub
from tests.support.hub.spaces import ECHO_FILES
from tests.support.hub.state import DROPPED, OTHER_TOKEN, OWNER_TOKEN, HubState


@pytest.fixture
def hub() -> Iterator[HubState]:
    with running_hub() as hub:
        hub.add("ann/echoing", ECHO_FILES)
        yield hub


@pytest.fixture
def env(hub: HubState, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "OPENENV_GYM_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def run(*arguments: str, home: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    ended = openenv(*arguments, cwd=home, env=env)
    assert "Traceback" not in ended.stderr
    assert OWNER_TOKEN not in ended.stdout + ended.stderr
    return ended


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_pulled_project_is_the_spaces_files_and_nothing_else(hub: HubState, env: dict[str, str], home: Path) -> None:
    ended = run("pull", "ann/echoing", "--json", home=home, env=env)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told == {
        "space": "ann/echoing",
        "revision": hub.repos["ann/echoing"].head.sha,
        "folder": str(home / "echoing"),
    }
    assert files_in(home / "echoing") == ECHO_FILES
    assert [path.name for path in home.iterdir()] == ["echoing"]


def test_a_revision_is_what_is_pulled(hub: HubState, env: dict[str, str], home: Path) -> None:
    space = hub.repos["ann/echoing"]
    old = space.head.sha
    space.commit({**ECHO_FILES, "new.txt": "new"})
    assert run("pull", f"ann/echoing@{old}", "old", home=home, env=env).returncode == 0
    assert run("pull", "ann/echoing", "new", home=home, env=env).returncode == 0
    assert files_in(home / "new").keys() - files_in(home / "old").keys() == {"new.txt"}


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_is_there_is_not_touched(hub: HubState, env: dict[str, str], home: Path, kind: str) -> None:
    target = home / "echoing"
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.write_text("mine", encoding="utf-8")
    else:
        target.symlink_to("nowhere")
    ended = run("pull", "ann/echoing", home=home, env=env)
    assert (ended.returncode, ended.stdout, hub.asked_for("/api")) == (2, "", [])
    assert "is there already" in ended.stderr
    assert list(home.iterdir()) == [target]


@pytest.mark.parametrize("path", ["../evil.py", "a/../../evil.py", "/etc/evil", "..\\evil.py", ".git/hooks/evil"])
def test_a_name_that_leads_out_of_the_folder_is_refused(
    hub: HubState, env: dict[str, str], home: Path, path: str
) -> None:
    hub.repos["ann/echoing"].commit({**ECHO_FILES, path: "evil"})
    ended = run("pull", "ann/echoing", home=home, env=env)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "do not trust that Space" in ended.stderr
    assert list(home.parent.rglob("evil*")) == list(home.iterdir()) == []


def test_what_is_no_project_is_not_pulled(hub: HubState, env: dict[str, str], home: Path) -> None:
    hub.add("ann/chat", {"app.py": "..."})
    ended = run("pull", "ann/chat", home=home, env=env)
    assert (ended.returncode, list(home.iterdir())) == (2, [])
    assert "has no openenv.yaml" in ended.stderr


def test_a_download_that_breaks_leaves_nothing(hub: HubState, env: dict[str, str], home: Path) -> None:
    hub.fail("/spaces/ann/echoing/resolve", DROPPED, times=1000)
    ended = run("pull", "ann/echoing", home=home, env=env)
    assert (ended.returncode, ended.stdout, list(home.iterdir())) == (1, "", [])
    assert ended.stderr.startswith("Error: ") or "\nError: " in ended.stderr


@pytest.mark.parametrize(
    ("space", "code", "told"),
    [
        ("ann/nothing", 2, "ann/nothing"),
        ("ann/echoing@nowhere", 2, "no such revision"),
        ("https://evil.example/spaces/ann/echoing", 2, "not Hugging Face"),
        ("../echoing", 2, "names no Space"),
    ],
)
def test_what_cannot_be_pulled_is_told(
    hub: HubState, env: dict[str, str], home: Path, space: str, code: int, told: str
) -> None:
    ended = run("pull", space, "target", home=home, env=env)
    assert (ended.returncode, ended.stdout, list(home.iterdir())) == (code, "", [])
    assert told in ended.stderr


def test_a_fork_is_a_space_of_ones_own_that_runs(
    hub: HubState, env: dict[str, str], home: Path, tmp_path: Path
) -> None:
    env = {**env, "HF_TOKEN": OTHER_TOKEN, "SOME_KEY": "some value"}
    with running_spaces(hub, tmp_path / "spaces"):
        options = ("--private", "--secret", "SOME_KEY", "--variable", "A=1")
        ended = run("fork", "ann/echoing", "bob/mine", *options, home=home, env=env)
        assert ended.returncode == 0, ended.stderr
    fork = hub.repos["bob/mine"]
    assert fork.head.files == hub.repos["ann/echoing"].head.files
    assert (fork.private, fork.secrets, fork.variables) == (True, {"SOME_KEY": "some value"}, {"A": {"value": "1"}})


@pytest.mark.parametrize(
    ("space", "target", "token", "told"),
    [
        ("ann/echoing", "ann/taken", OWNER_TOKEN, "There is a Space ann/taken already"),
        ("ann/echoing@main", "ann/new", OWNER_TOKEN, "leave @main out"),
        ("ann/echoing", "bob/new", OWNER_TOKEN, "may not do that"),
        ("ann/nothing", "ann/new", OWNER_TOKEN, "ann/nothing"),
        ("ann/echoing", "ann/new", "", "set HF_TOKEN"),
        ("ann/echoing", "new", OWNER_TOKEN, "names no environment"),
    ],
)
def test_what_cannot_be_forked_is_told(
    hub: HubState, env: dict[str, str], home: Path, space: str, target: str, token: str, told: str
) -> None:
    hub.add("ann/taken")
    ended = run("fork", space, target, "--no-wait", home=home, env={**env, "HF_TOKEN": token})
    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert hub.repos.keys() == {"ann/echoing", "ann/taken"}
