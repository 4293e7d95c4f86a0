"""``openenv push`` to the stand-in Hub, by the real huggingface_hub."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from openenv_gym.providers.docker.vendored import own_wheel
from tests.support.command import invoked, openenv
from tests.support.hub.running_spaces import running_spaces
from tests.support.hub.server import running_hub
from tests.support.hub.state import DROPPED, OTHER_TOKEN, OWNER_TOKEN, Answer, HubState

SPACE = "ann/my_game"
COMMIT = f"/api/spaces/{SPACE}/commit"


@pytest.fixture
def hub() -> Iterator[HubState]:
    with running_hub() as hub:
        yield hub


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the wheel that goes with a project: it takes longer to build than the rest of a push."""
    cache = tmp_path_factory.mktemp("wheels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENENV_GYM_CACHE", str(cache))
        assert own_wheel() is not None
    return cache


@pytest.fixture
def env(hub: HubState, wheels: Path, tmp_path: Path) -> dict[str, str]:
    shutil.copytree(wheels, tmp_path / "cache")
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_TOKEN": OWNER_TOKEN,
        "OPENENV_GYM_CACHE": str(tmp_path / "cache"),
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(new_project("my_game", "typed", tmp_path / "my_game"))


def push(project: Path, env: dict[str, str], *more: str, space: str = SPACE) -> subprocess.CompletedProcess[str]:
    """Pushes without a question, and without waiting unless it is said."""
    waiting = () if "--wait" in more else ("--no-wait",)
    run = openenv("push", project, "--space", space, "--yes", *waiting, *more, env=env)
    assert "Traceback" not in run.stderr
    for token in (OWNER_TOKEN, OTHER_TOKEN):
        assert token not in run.stdout + run.stderr
    return run


def wrote(hub: HubState) -> list[str]:
    """What was asked of the Hub that changes something."""
    return [f"{each.method} {each.path}" for each in hub.asked if each.method != "GET"]


def sent_once(hub: HubState) -> bool:
    """Whether large files were sent, and none of them twice."""
    sent = [each.path for each in hub.asked_for("/lfs/") if each.method == "PUT"]
    return bool(sent) and len(sent) == len(set(sent))


def test_a_dry_run_lists_the_files_and_changes_nothing(hub: HubState, env: dict[str, str], project: Path) -> None:
    run = openenv("push", project, "--space", SPACE, "--dry-run", "--json", env={**env, "HF_TOKEN": ""})
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    paths = {file["path"] for file in told["files"]}
    assert (told["space"], told["is_new"], told["removed"]) == (SPACE, True, [])
    assert {"Dockerfile", "openenv.yaml", "server/app.py", "my_game_env/environment.py"} <= paths
    assert [path for path in paths if path.startswith("vendor/openenv_gym-")]
    assert wrote(hub) == []


def test_the_listing_is_asked_about_and_nobody_to_ask_means_no(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    run = openenv("push", project, "--space", SPACE, env=env)
    assert (run.returncode, run.stdout) == (2, "")
    assert "server/app.py" in run.stderr
    assert "say --yes" in run.stderr
    assert wrote(hub) == []


def test_a_space_has_exactly_the_project_and_runs_it(
    hub: HubState, env: dict[str, str], project: Path, tmp_path: Path
) -> None:
    with running_spaces(hub, tmp_path / "spaces"):
        run = push(project, env, "--wait", "--json")
    assert run.returncode == 0, run.stderr
    files = hub.repos[SPACE].head.files
    assert json.loads(run.stdout)["revision"] == hub.repos[SPACE].head.sha
    assert files["Dockerfile"] == files["server/Dockerfile"] == (project / "server" / "Dockerfile").read_bytes()
    assert files["server/app.py"] == (project / "server" / "app.py").read_bytes()
    assert [path for path in files if path.endswith(".whl")]
    assert "BUILDING" in run.stderr
    assert "RUNNING" in run.stderr
    assert "passed" in run.stderr


def test_secrets_variables_and_visibility_are_set_before_the_files_come(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    env = {**env, "SOME_KEY": "the value of the key"}
    run = push(project, env, "--private", "--secret", "SOME_KEY", "--variable", "LEVEL=3")
    assert run.returncode == 0, run.stderr
    space = hub.repos[SPACE]
    assert (space.private, space.secrets) == (True, {"SOME_KEY": "the value of the key"})
    assert space.variables == {"LEVEL": {"value": "3"}}
    assert "the value of the key" not in run.stdout + run.stderr
    asked = wrote(hub)
    assert asked.index(f"POST /api/spaces/{SPACE}/secrets") < asked.index(f"POST {COMMIT}/main")


def test_a_second_push_removes_what_is_gone_and_sends_no_large_file_again(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    (project / "notes.txt").write_text("for a while", encoding="utf-8")
    assert push(project, env).returncode == 0
    (project / "notes.txt").unlink()
    run = push(project, env)
    assert run.returncode == 0, run.stderr
    assert "notes.txt  is removed" in run.stderr
    assert "notes.txt" not in hub.repos[SPACE].head.files
    assert ".gitattributes" in hub.repos[SPACE].head.files
    assert sent_once(hub)


def test_nothing_new_makes_no_commit(hub: HubState, env: dict[str, str], project: Path) -> None:
    assert push(project, env).returncode == 0
    before = len(hub.repos[SPACE].commits)
    assert push(project, env).returncode == 0
    assert len(hub.repos[SPACE].commits) == before


def test_a_public_space_is_not_made_private_behind_its_back(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.add(SPACE)
    run = push(project, env, "--private")
    assert (run.returncode, wrote(hub)) == (2, [])
    assert f"Make it private at {hub.url}/spaces/{SPACE}/settings first" in run.stderr


def test_an_upload_that_is_interrupted_goes_on(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.fail(COMMIT, DROPPED)
    run = push(project, env)
    assert run.returncode == 0, run.stderr
    assert "Trying again in 1 s" in run.stderr
    assert "openenv.yaml" in hub.repos[SPACE].head.files
    assert sent_once(hub)


def test_an_upload_that_stays_interrupted_leaves_nothing_half_written_and_is_resumed(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    hub.fail(COMMIT, DROPPED, times=3)
    run = push(project, env)
    assert (run.returncode, run.stdout) == (1, "")
    assert "push again, and what has arrived is not sent anew" in run.stderr
    assert set(hub.repos[SPACE].head.files) == {".gitattributes"}
    assert push(project, env).returncode == 0
    assert sent_once(hub)


def test_a_commit_whose_answer_is_lost_is_not_made_twice(hub: HubState, env: dict[str, str], project: Path) -> None:
    def forget(repo: object) -> None:
        hub.on_commit = repr
        raise ConnectionError("the answer is lost")

    hub.on_commit = forget
    run = push(project, env)
    assert run.returncode == 0, run.stderr
    assert len(hub.repos[SPACE].commits) == 2


def test_a_large_file_that_is_interrupted_goes_on(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.fail("/lfs/", DROPPED, method="PUT")
    run = push(project, env)
    assert run.returncode == 0, run.stderr
    assert [path for path in hub.repos[SPACE].head.files if path.endswith(".whl")]


def test_what_somebody_else_has_pushed_meanwhile_is_not_overwritten(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    space = hub.add(SPACE)
    hub.fail(COMMIT, Answer(412, {"error": "A commit has happened since."}))
    run = push(project, env)
    assert (run.returncode, run.stdout, len(space.commits)) == (2, "", 1)
    assert "push again" in run.stderr


def test_a_hub_that_asks_for_patience_gets_it(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.fail(COMMIT, Answer(429, {"error": "slow down"}, {"Retry-After": "1"}))
    run = push(project, env)
    assert run.returncode == 0, run.stderr
    assert "HTTP 429" in run.stderr
    assert "Wait 1 s" in run.stderr


def test_a_hub_that_asks_for_too_much_patience_is_said_so(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.fail(COMMIT, Answer(429, {"error": "slow down"}, {"Retry-After": "3600"}))
    run = push(project, env)
    assert (run.returncode, run.stdout) == (1, "")
    assert "Wait 3600 s" in run.stderr
    assert set(hub.repos[SPACE].head.files) == {".gitattributes"}


def test_without_a_network_that_is_said(env: dict[str, str], project: Path) -> None:
    run = push(project, {**env, "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert (run.returncode, run.stdout) == (1, "")
    assert "on the network?" in run.stderr


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("hf_expired", "refused the token"),
        (OTHER_TOKEN, "may not do that"),
        ("", "set HF_TOKEN or log in with `hf auth login`"),
    ],
)
def test_a_wrong_token_a_missing_permission_and_no_token_are_told_with_what_to_do(
    hub: HubState, env: dict[str, str], project: Path, token: str, told: str
) -> None:
    run = push(project, {**env, "HF_TOKEN": token})
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr
    assert "huggingface.co/settings/tokens" in run.stderr
    assert hub.repos == {}


def test_what_belongs_to_others_is_not_changed(hub: HubState, env: dict[str, str], project: Path) -> None:
    space = hub.add("bob/game")
    run = push(project, env, space="bob/game")
    assert run.returncode == 2
    assert "may not do that" in run.stderr
    assert len(space.commits) == 1


def test_a_secret_is_refused_before_anything_is_asked(hub: HubState, env: dict[str, str], project: Path) -> None:
    (project / "credentials.json").write_text("{}", encoding="utf-8")
    (project / "my_game_env" / "settings.py").write_text(f"\nTOKEN = {OWNER_TOKEN!r}\n", encoding="utf-8")
    run = push(project, env)
    assert (run.returncode, run.stdout, hub.asked_for("/api/spaces")) == (2, "", [])
    assert "credentials.json is called as files with secrets are" in run.stderr
    assert "my_game_env/settings.py has a secret of yours in line 2" in run.stderr
    assert ".openenvignore" in run.stderr


def test_what_is_no_secret_can_be_allowed(hub: HubState, env: dict[str, str], project: Path) -> None:
    (project / "public.pem").write_text("a certificate", encoding="utf-8")
    assert push(project, env).returncode == 2
    assert push(project, env, "--allow", "public.pem").returncode == 0
    assert "public.pem" in hub.repos[SPACE].head.files


def test_a_link_out_of_the_project_is_refused(
    hub: HubState, env: dict[str, str], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("of the machine", encoding="utf-8")
    (project / "notes.txt").symlink_to("../secret.txt")
    run = push(project, env)
    assert (run.returncode, run.stdout, hub.asked_for("/api/spaces")) == (2, "", [])
    assert "notes.txt is a symbolic link that leads out of the project" in run.stderr


def test_a_wrong_folder_is_refused(hub: HubState, env: dict[str, str], project: Path) -> None:
    run = push(project.parent, env)
    assert (run.returncode, run.stdout) == (2, "")
    assert "openenv.yaml is in ./my_game" in run.stderr
    assert wrote(hub) == []


def test_a_readme_that_makes_no_environment_space_is_refused(hub: HubState, env: dict[str, str], project: Path) -> None:
    (project / "README.md").write_text("---\ntitle: x\nsdk: gradio\n---\n", encoding="utf-8")
    run = push(project, env)
    assert (run.returncode, wrote(hub)) == (2, [])
    assert "README.md does not say sdk: docker" in run.stderr
    assert "app_port: 8000" in run.stderr


def test_a_space_that_cannot_be_built_is_told_with_where_its_log_is(
    hub: HubState, env: dict[str, str], project: Path
) -> None:
    hub.stages = ["BUILDING", "BUILD_ERROR"]
    run = push(project, env, "--wait")
    assert (run.returncode, run.stdout) == (1, "")
    assert "could not be built" in run.stderr
    assert f"/spaces/{SPACE}?logs=build" in run.stderr


def test_a_space_that_does_not_run_in_time_is_told(hub: HubState, env: dict[str, str], project: Path) -> None:
    hub.stages = ["BUILDING"]
    run = push(project, env, "--wait", "--timeout", "4")
    assert (run.returncode, run.stdout) == (1, "")
    assert "has the commit, but did not run it within 4 s: its stage is BUILDING" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--secret", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE is not set here"),
        (("--secret", "KEY=hushhush"), "takes a name alone"),
        (("--variable", "LEVEL"), "--variable is NAME=VALUE"),
        (("--allow", "nothing"), "no file nothing"),
        (("--variable", "A B=1"), "cannot be the name of a variable"),
        (("--registry", "ghcr.io/ann"), "--registry NAME"),
    ],
)
def test_wrong_arguments_are_refused(
    hub: HubState, env: dict[str, str], project: Path, arguments: tuple[str, str], told: str
) -> None:
    run = invoked("push", project, "--space", SPACE, "--yes", *arguments, env=env)
    assert (run.returncode, run.stdout, wrote(hub)) == (2, "", [])
    assert told in run.stderr
    assert "hushhush" not in run.stderr


@pytest.mark.parametrize("space", ["my_game", "ann/my_game@main", "a/b/c", "../x/y", "https://evil.example/ann/x"])
def test_what_names_no_space_is_refused(hub: HubState, env: dict[str, str], project: Path, space: str) -> None:
    run = invoked("push", project, "--space", space, "--yes", env=env)
    assert (run.returncode, run.stdout, wrote(hub)) == (2, "", [])
