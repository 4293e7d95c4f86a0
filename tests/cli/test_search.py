from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import openenv
from tests.support.hub.server import running_hub
from tests.support.hub.spaces import ECHO_FILES
from tests.support.hub.state import Answer, HubState


@pytest.fixture
def hub() -> Iterator[HubState]:
    with running_hub() as hub:
        hub.add("ann/echoing", ECHO_FILES, title="Echoing", likes=7)
        hub.add("bob/chess", {"README.md": "chess"}, title="Chess \x1b[31m", likes=3)
        yield hub


@pytest.fixture
def env(hub: HubState, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "OPENENV_GYM_CACHE": str(tmp_path / "cache")}


def ids(text: str) -> list[str]:
    return [each["id"] for each in json.loads(text)]


def test_spaces_are_found_by_words_the_most_liked_first(env: dict[str, str]) -> None:
    assert ids(openenv("search", "--json", env=env).stdout) == ["ann/echoing", "bob/chess"]
    assert ids(openenv("search", "chess", "--json", env=env).stdout) == ["bob/chess"]
    table = openenv("search", "chess", env=env).stdout
    assert "bob/chess" in table
    assert "\x1b" not in table


def test_what_was_seen_before_is_found_without_a_network_and_its_age_told(env: dict[str, str], hub: HubState) -> None:
    assert openenv("search", env=env).returncode == 0
    asked = len(hub.asked)
    run = openenv("search", "--offline", "--json", env=env)
    assert ids(run.stdout) == ["ann/echoing", "bob/chess"]
    assert len(hub.asked) == asked


def test_without_a_network_and_without_a_cache_what_to_do_is_said(env: dict[str, str]) -> None:
    run = openenv("search", "chess", env={**env, "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert (run.returncode, run.stdout) == (1, "")
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("Error: ")


def test_no_match_is_no_data(env: dict[str, str]) -> None:
    run = openenv("search", "no-such-words", env=env)
    assert (run.returncode, run.stdout) == (0, "")
    assert "No Space matches." in run.stderr


def test_more_than_the_limit_is_said(env: dict[str, str]) -> None:
    run = openenv("search", "--limit", "1", "--json", env=env)
    assert ids(run.stdout) == ["ann/echoing"]
    assert "1 of 2" in run.stderr


def test_a_space_is_told_with_its_manifest(env: dict[str, str]) -> None:
    told = json.loads(openenv("info", "ann/echoing", "--json", env=env).stdout)
    assert (told["id"], told["likes"], told["manifest"]["name"]) == ("ann/echoing", 7, "echo")
    assert "ann/echoing" in openenv("info", "ann/echoing", env=env).stdout


def test_a_space_that_there_is_not_is_said_so(env: dict[str, str]) -> None:
    run = openenv("info", "ann/nothing", env=env)
    assert run.returncode in (1, 2)
    assert run.stdout == ""
    assert "ann/nothing" in run.stderr


def test_a_hub_that_asks_for_patience_is_said_so(env: dict[str, str], hub: HubState) -> None:
    hub.fail("/api/spaces", Answer(429, {"error": "slow down"}, {"Retry-After": "1"}), times=50)
    run = openenv("search", env=env)
    assert (run.returncode, run.stdout) == (1, "")
    assert "Traceback" not in run.stderr


def test_where_the_hub_cannot_be_asked_that_and_the_age_are_said_once(env: dict[str, str], hub: HubState) -> None:
    assert openenv("search", env=env).returncode == 0
    hub.fail("/api/spaces", Answer(503, {"error": "Out of order \x1b[31m\u202e"}), times=50)
    run = openenv("search", "--refresh", "--json", env=env)
    assert (run.returncode, ids(run.stdout)) == (0, ["ann/echoing", "bob/chess"])
    (said,) = run.stderr.splitlines()
    assert "Out of order [31m" in said
    assert "was read" in said
