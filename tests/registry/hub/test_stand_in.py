"""The stand-in Hub, asked by the real huggingface_hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi, errors

from tests.support.hub.server import running_hub
from tests.support.hub.state import OTHER_TOKEN, OWNER_TOKEN, Answer, HubState

FILES = {"openenv.yaml": "name: echo\n", "server/app.py": "app = None\n", "README.md": "# Echo\n"}


@pytest.fixture(scope="module")
def hub() -> Iterator[HubState]:
    with running_hub() as running:
        running.add("openenv/echo_env", FILES, likes=3)
        running.add("openenv/secret_env", FILES, private=True)
        running.add("someone/gated_env", FILES, gated=True)
        running.add("someone/gradio_app", FILES, tags=["gradio"])
        for number in range(5):
            running.add(f"someone/env{number}")
        yield running


def api_of(hub: HubState, token: str | bool = False) -> HfApi:
    return HfApi(endpoint=hub.url, token=token)


def test_a_listing_is_paged_and_filtered(hub: HubState) -> None:
    hub.page_size = 2
    found = [space.id for space in api_of(hub).list_spaces(filter="openenv", sort="likes")]
    assert found == ["openenv/echo_env", "someone/gated_env", *(f"someone/env{number}" for number in range(5))]
    assert len(list(api_of(hub).list_spaces(author="openenv"))) == 1
    assert len(list(api_of(hub, OWNER_TOKEN).list_spaces(author="openenv"))) == 2
    assert len(hub.asked_for("/api/spaces")) > 3


def test_a_space_is_described_at_a_revision_with_its_runtime(hub: HubState) -> None:
    info = api_of(hub).space_info("openenv/echo_env", files_metadata=False)
    head = hub.repos["openenv/echo_env"].head.sha
    assert (info.sha, info.likes, info.author, info.private) == (head, 3, "openenv", False)
    assert info.runtime is not None
    assert info.runtime.stage == "RUNNING"
    assert api_of(hub).space_info("openenv/echo_env", revision=head).sha == head
    assert api_of(hub).get_space_runtime("openenv/echo_env").hardware == "cpu-basic"
    refs = api_of(hub).list_repo_refs("openenv/echo_env", repo_type="space")
    assert [branch.target_commit for branch in refs.branches] == [head]


def test_files_are_listed_and_downloaded(hub: HubState, tmp_path: Path) -> None:
    api = api_of(hub)
    hub.page_size = 2
    rows = list(api.list_repo_tree("openenv/echo_env", repo_type="space", recursive=True))
    assert [row.path for row in rows] == ["README.md", "openenv.yaml", "server", "server/app.py"]
    one = api.hf_hub_download("openenv/echo_env", "openenv.yaml", repo_type="space", cache_dir=tmp_path)
    assert Path(one).read_text() == "name: echo\n"
    whole = Path(api.snapshot_download("openenv/echo_env", repo_type="space", cache_dir=tmp_path / "all"))
    assert (whole / "server/app.py").read_text() == "app = None\n"


def test_people_are_known_by_their_token(hub: HubState) -> None:
    assert api_of(hub, OWNER_TOKEN).whoami()["name"] == "ann"
    with pytest.raises(errors.HfHubHTTPError):
        api_of(hub, "hf_wrong").whoami()


def test_what_may_not_be_seen_is_refused_as_the_hub_does(hub: HubState, tmp_path: Path) -> None:
    for token in (False, OTHER_TOKEN):
        with pytest.raises(errors.RepositoryNotFoundError):
            api_of(hub, token).space_info("openenv/secret_env")
    assert api_of(hub, OWNER_TOKEN).space_info("openenv/secret_env").private
    with pytest.raises(errors.RevisionNotFoundError):
        api_of(hub).space_info("openenv/echo_env", revision="0" * 40)
    with pytest.raises(errors.GatedRepoError):
        api_of(hub).hf_hub_download("someone/gated_env", "openenv.yaml", repo_type="space", cache_dir=tmp_path)
    with pytest.raises(errors.EntryNotFoundError):
        api_of(hub).hf_hub_download("openenv/echo_env", "no.txt", repo_type="space", cache_dir=tmp_path)


def test_a_request_fails_as_it_was_ordered(hub: HubState) -> None:
    hub.fail("/api/spaces/openenv/echo_env", Answer(429, {"error": "slow down"}, {"Retry-After": "7"}))
    with pytest.raises(errors.HfHubHTTPError) as caught:
        api_of(hub).space_info("openenv/echo_env")
    assert caught.value.response.headers["Retry-After"] == "7"
    assert api_of(hub).space_info("openenv/echo_env").id == "openenv/echo_env"


def test_the_library_here_is_the_real_one() -> None:
    assert int(huggingface_hub.__version__.split(".")[0]) >= 1
