"""The stand-in Hub's writes, asked by the real library."""

from __future__ import annotations

import warnings

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, constants
from huggingface_hub.errors import HfHubHTTPError

from tests.support.hub.state import OTHER_TOKEN, OWNER_TOKEN, HubState

ID = "ann/made"


@pytest.fixture
def api(hub: HubState) -> HfApi:
    return HfApi(endpoint=hub.url, token=OWNER_TOKEN)


def test_a_space_is_made_set_and_asked_about(hub: HubState, api: HfApi) -> None:
    api.create_repo(ID, repo_type="space", space_sdk="docker", private=True)
    api.add_space_secret(ID, "KEY", "value")
    api.add_space_variable(ID, "LEVEL", "3")
    assert (hub.repos[ID].private, hub.repos[ID].secrets) == (True, {"KEY": "value"})
    assert api.get_space_variables(ID)["LEVEL"].value == "3"
    api.update_repo_settings(ID, repo_type="space", private=False)
    assert api.space_info(ID).private is False
    assert api.whoami()["name"] == "ann"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(ID, repo_type="space", space_sdk="docker")


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # the library's own
def test_a_commit_adds_changes_and_removes_and_the_space_goes_through_its_stages(
    hub: HubState, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    space = hub.add(ID, {"old.txt": "old", "kept.txt": "kept"})
    changes: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
        CommitOperationAdd("new.txt", b"new"),
        CommitOperationAdd("large.bin", b"large" * 1000),
        CommitOperationDelete("old.txt"),
    ]
    made = api.create_commit(ID, changes, commit_message="a change", repo_type="space")
    assert (space.head.sha, space.head.title) == (made.oid, "a change")
    assert space.head.files == {"new.txt": b"new", "large.bin": b"large" * 1000, "kept.txt": b"kept"}
    stages = [str(api.get_space_runtime(ID).stage) for _ in range(3)]
    assert [stage.rpartition(".")[2] for stage in stages] == ["APP_STARTING", "RUNNING", "RUNNING"]
    assert api.get_space_runtime(ID).raw["sha"] == made.oid


def test_what_gitignore_names_is_dropped_as_the_hub_does(hub: HubState, api: HfApi) -> None:
    space = hub.add(ID)
    changes = [CommitOperationAdd(".gitignore", b"out\n"), CommitOperationAdd("out/a.txt", b"a")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api.create_commit(ID, changes, commit_message="a change", repo_type="space")
    assert space.head.files.keys() == {"README.md", ".gitignore"}


def test_a_commit_upon_an_old_one_and_one_by_a_stranger_are_refused(hub: HubState, api: HfApi) -> None:
    space = hub.add(ID)
    old = space.head.sha
    space.commit({"README.md": "new"})
    changes = [CommitOperationAdd("a.txt", b"a")]
    with pytest.raises(HfHubHTTPError, match="412"):
        api.create_commit(ID, changes, commit_message="late", repo_type="space", parent_commit=old)
    stranger = HfApi(endpoint=hub.url, token=OTHER_TOKEN)
    changes = [CommitOperationAdd("a.txt", b"a")]
    with pytest.raises(HfHubHTTPError, match="403"):
        stranger.create_commit(ID, changes, commit_message="a change", repo_type="space")
    assert len(space.commits) == 2
