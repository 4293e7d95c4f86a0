"""Searching the Hub, online and off: what is found, how old it is, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gymnasium
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ConnectError, RateLimited, SpaceNotFound, Unauthorized
from openenv_gym_registry.cache import in_words
from openenv_gym_registry.catalogue import known_spaces, synced_spaces_path
from openenv_gym_registry.hub import reading
from openenv_gym_registry.search import lookup, search, sync

from tests.support.hub.spaces import ECHO_FILES, hub_for
from tests.support.hub.state import DROPPED, OWNER_TOKEN, Answer, HubState


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubState]:
    before = dict(gymnasium.registry)
    known_spaces.cache_clear()
    with hub_for(monkeypatch, tmp_path) as running:
        running.add("openenv/echo_env", ECHO_FILES, likes=30, title="Echo Environment")
        running.add("ann/grid", likes=7, title="A grid world")
        running.add("bob/echo-two", likes=9)
        running.add("bob/chat", tags=["gradio"], title="echo chat")
        running.add("openenv/hidden_echo", private=True)
        yield running
    known_spaces.cache_clear()
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every listing is too old to be used unasked."""
    monkeypatch.setattr(reading, "LISTING_AGE", timedelta(0))


def ids(words: str = "", **keywords: bool) -> list[str]:
    return [space.id for space in search(words, **keywords).spaces]


def test_spaces_are_found_by_words_the_most_liked_first(hub: HubState) -> None:
    assert ids() == ["openenv/echo_env", "bob/echo-two", "ann/grid"]
    assert ids("echo") == ["openenv/echo_env", "bob/echo-two"]
    assert ids("ECHO environment") == ["openenv/echo_env"]
    assert ids("WORLD") == ["ann/grid"]
    assert ids("bob") == ["bob/echo-two"]
    assert ids("nothing like that") == []
    found = search("echo", limit=1)
    assert (len(found.spaces), found.total, found.is_stale) == (1, 2, False)


def test_what_is_found_says_what_the_hub_says(hub: HubState) -> None:
    (echo,) = search("environment").spaces
    head = hub.repos["openenv/echo_env"].head.sha
    assert (echo.title, echo.author, echo.likes, echo.stage) == ("Echo Environment", "openenv", 30, "RUNNING")
    assert (echo.hardware, echo.revision, echo.private, echo.tags) == ("cpu-basic", head, False, ("docker", "openenv"))
    assert echo.updated == datetime(2026, 1, 1, tzinfo=UTC)
    assert echo.age < timedelta(minutes=1)


def test_private_spaces_are_found_by_who_may_see_them_and_not_offline_by_others(
    hub: HubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    assert "openenv/hidden_echo" in ids("echo")
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ConnectError):
        search("echo", offline=True)
    assert "openenv/hidden_echo" not in ids("echo")


def test_all_pages_are_read(hub: HubState) -> None:
    hub.page_size = 2
    assert len(ids()) == 3
    assert len(hub.asked_for("/api/spaces")) == 2
    assert len(ids(offline=True)) == 3


def test_within_an_hour_nobody_is_asked_again_unless_one_says_so(hub: HubState) -> None:
    search()
    hub.asked.clear()
    hub.add("carl/newest")
    assert "carl/newest" not in ids()
    assert hub.asked_for("/api/spaces") == []
    assert "carl/newest" in ids(refresh=True)


@pytest.mark.usefixtures("old")
def test_an_old_listing_is_asked_for_by_its_etag(hub: HubState) -> None:
    search()
    hub.asked.clear()
    assert len(ids()) == 3
    (asked,) = hub.asked_for("/api/spaces")
    assert asked.headers["if-none-match"].startswith('W/"')


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("answer", [DROPPED, Answer(503), Answer(429, b"", {"Retry-After": "60"})])
def test_when_the_hub_cannot_be_asked_what_is_there_is_used_and_said_to_be_old(
    hub: HubState, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    search()
    hub.fail("/api/spaces", answer)
    found = search("echo")
    assert found.is_stale
    assert found.age is not None
    assert [space.id for space in found.spaces] == ["openenv/echo_env", "bob/echo-two"]
    assert "What is used was read" in caplog.text


def test_offline_nobody_is_asked(hub: HubState) -> None:
    search()
    lookup("openenv/echo_env")
    hub.asked.clear()
    assert ids("grid", offline=True) == ["ann/grid"]
    echo = lookup("openenv/echo_env", offline=True)
    assert echo.manifest is not None
    assert hub.asked == []


def test_offline_what_was_never_read_is_an_error(hub: HubState) -> None:
    with pytest.raises(ConnectError, match="never read"):
        search(offline=True)
    with pytest.raises(ConnectError, match="ann/grid"):
        lookup("ann/grid", offline=True)
    assert hub.asked == []


def test_a_hub_that_cannot_be_asked_the_first_time_is_an_error(hub: HubState) -> None:
    hub.fail("/api/spaces", DROPPED)
    with pytest.raises(ConnectError, match="network"):
        search()
    hub.fail("/api/spaces", Answer(429, b"", {"Retry-After": "60"}))
    with pytest.raises(RateLimited, match="60 s"):
        search()


def test_a_wrong_token_is_an_error_even_where_something_is_cached(
    hub: HubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    search()
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(Unauthorized, match="settings/tokens"):
        search()


def test_a_space_is_looked_up_with_its_manifest_and_spaces(hub: HubState) -> None:
    for text in ("openenv/echo_env", "https://huggingface.co/spaces/openenv/echo_env", "openenv/echo_env@main"):
        echo = lookup(text)
        assert echo.manifest is not None
        assert (echo.manifest.name, echo.problem) == ("echo", None)
        assert echo.spaces is not None
        assert echo.spaces["action"]["type"] == "Dict"


def test_the_manifest_of_a_commit_is_read_once(hub: HubState) -> None:
    repo = hub.repos["openenv/echo_env"]
    first = repo.head.sha
    lookup("openenv/echo_env")
    lookup("openenv/echo_env")
    assert len(hub.asked_for("/spaces/")) == 1
    repo.commit({"openenv.yaml": "name: newer\n"})
    newer, older = lookup("openenv/echo_env").manifest, lookup(f"openenv/echo_env@{first}").manifest
    assert newer is not None
    assert older is not None
    assert (newer.name, older.name) == ("newer", "echo")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("name: [broken\n", "line"), ("name: -x\n", "name"), ("- a list\n", "mapping"), ("name: x\nport: 0\n", "port")],
)
def test_a_wrong_manifest_hides_nothing_else(hub: HubState, text: str, problem: str) -> None:
    hub.repos["ann/grid"].commit({"openenv.yaml": text})
    grid = lookup("ann/grid")
    assert (grid.title, grid.manifest) == ("A grid world", None)
    assert problem in (grid.problem or "")
    assert "ann/grid" in (grid.problem or "")


def test_a_space_without_a_manifest_is_told_as_such(hub: HubState) -> None:
    grid = lookup("ann/grid")
    assert (grid.manifest, grid.problem, grid.spaces) == (None, None, None)


def test_what_cannot_be_looked_up_says_why(hub: HubState) -> None:
    with pytest.raises(SpaceNotFound, match="ann/none"):
        lookup("ann/none")
    with pytest.raises(ConfigurationError, match="no such revision"):
        lookup("ann/grid@v9")
    with pytest.raises(ConfigurationError, match="owner/name"):
        lookup("https://ann-grid.hf.space")
    with pytest.raises(ConfigurationError):
        lookup("https://evil.example/spaces/ann/grid")
    with pytest.raises(ConfigurationError, match="limit"):
        search(limit=0)
    hub.add("ann/gated", gated=True)
    with pytest.raises(Unauthorized, match="gated"):
        lookup("ann/gated")


def test_sync_registers_the_spaces_of_the_organisation_for_later_processes_too(hub: HubState) -> None:
    hub.add("openenv/new_env")
    hub.add("openenv/untagged", tags=[])
    report = sync()
    assert report.added == ("openenv/new_env",)
    assert "openenv/wordle" in report.missing
    assert {"openenv/new_env", "openenv/wordle", "openenv/echo_env"} <= set(report.known)
    assert gymnasium.spec("openenv/new_env").kwargs == {"space": "openenv/new_env"}
    assert sync().added == ()
    listed = subprocess.run(
        [sys.executable, "-c", "import openenv_gym, gymnasium; print(*gymnasium.registry)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "openenv/new_env" in listed.stdout.split()


def test_sync_can_write_another_file(hub: HubState, tmp_path: Path) -> None:
    path = tmp_path / "spaces.json"
    assert sync(path).path == path
    assert json.loads(path.read_text()) == [{"id": "openenv/echo_env", "space": "openenv/echo_env"}]


def test_a_sync_that_fails_changes_nothing(hub: HubState) -> None:
    sync()
    before = synced_spaces_path().read_text()
    hub.fail("/api/spaces", Answer(401, {"error": "no"}))
    with pytest.raises(Unauthorized):
        sync()
    assert synced_spaces_path().read_text() == before


FOREIGN = '[{"id": "evil/Echo-v0", "space": "evil/Echo-v0"}]'
DISGUISED = '[{"id": "openenv/echo_env", "space": "evil/echo_env"}]'


@pytest.mark.parametrize("text", ["", "{", '[{"id": 1}]', "[1]", FOREIGN, DISGUISED])
def test_a_broken_list_of_synced_spaces_keeps_nobody_from_importing(hub: HubState, text: str) -> None:
    synced_spaces_path().parent.mkdir(parents=True)
    synced_spaces_path().write_text(text)
    found = {known.id: known.space for known in known_spaces()}
    assert found["openenv/echo_env"] == "openenv/echo_env"
    assert [id for id in found if not id.startswith("openenv/")] == []


def test_an_age_is_said_in_words() -> None:
    ages = [timedelta(seconds=5), timedelta(minutes=1), timedelta(hours=5), timedelta(days=3)]
    assert [in_words(age) for age in ages] == ["5 s", "1 minute", "5 hours", "3 days"]
