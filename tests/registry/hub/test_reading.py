"""Answers that are none of what was asked for are refused, and not kept."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ProtocolFailure
from openenv_gym_registry.hub.reading import HubReader
from openenv_gym_registry.search import lookup, search

from openenv_gym.providers.user_cache import cache_root
from tests.support.hub.state import Answer, HubState


@pytest.mark.parametrize("body", [b"5", b'"text"', b"{}", b"null", b"[" * 100_000, b"<html>", b"\xff", b"9" * 5_000])
def test_a_listing_that_is_none_is_refused_and_not_kept(hub: HubState, body: bytes) -> None:
    hub.add("openenv/echo_env")
    hub.fail("/api/spaces", Answer(200, body))
    with pytest.raises(ProtocolFailure):
        search()
    assert [space.id for space in search().spaces] == ["openenv/echo_env"]


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"id": 5}'])
def test_a_space_that_is_none_is_refused(hub: HubState, body: bytes) -> None:
    hub.fail("/api/spaces/openenv/echo_env", Answer(200, body))
    with pytest.raises(ProtocolFailure):
        lookup("openenv/echo_env")


ODD: dict[str, Any] = {
    "id": "a/b",
    "tags": 5,
    "cardData": ["title"],
    "runtime": {"stage": {}, "hardware": 1},
    "likes": "many",
    "sha": 7,
    "lastModified": "never",
    "author": None,
}


def test_a_space_of_which_everything_is_odd_is_still_told(hub: HubState) -> None:
    hub.fail("/api/spaces", Answer(200, [ODD, "no row", {"id": None}]))
    (found,) = search("b").spaces
    assert (found.id, found.title, found.author, found.tags, found.stage) == ("a/b", "b", "a", (), None)
    assert (found.likes, found.revision, found.updated) == (0, None, None)


def test_a_commit_that_is_a_path_leads_nowhere_else(hub: HubState) -> None:
    assert HubReader().manifest("a/b", "../../../api/whoami-v2?") is None
    (asked,) = hub.asked
    assert asked.path == "/spaces/a/b/resolve/../../../api/whoami-v2?/openenv.yaml"
    assert asked.query == {}


@pytest.mark.parametrize("cached", ["5", "null", '{"a": 1}'])
def test_an_answer_of_another_kind_in_the_cache_is_asked_for_anew(hub: HubState, cached: str) -> None:
    hub.add("openenv/echo_env")
    assert len(search().spaces) == 1
    (file,) = (cache_root() / "hub").iterdir()
    before = file.read_text(encoding="utf-8")
    start = before.index('"body": ') + len('"body": ')
    file.write_text(f"{before[:start]}{cached}}}", encoding="utf-8")
    assert len(search().spaces) == 1
