from __future__ import annotations

import json
from pathlib import Path

import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.command import invoked, openenv
from tests.support.hub.spaces import ECHO_FILES, hub_for


def test_a_bundled_id_is_told_with_its_spaces_and_options() -> None:
    told = json.loads(openenv("info", "openenv/Blackjack-v0", "--json").stdout)
    assert (told["project"], told["spaces"]["action"]["n"]) == ("blackjack", 2)
    assert set(told["reset_options"]) == {"natural", "sab"}
    shown = openenv("info", "openenv/Blackjack-v0").stdout
    assert "Blackjack by Gymnasium's rules" in shown
    assert "natural" in shown


def test_a_variant_is_told_by_its_own_id() -> None:
    told = json.loads(openenv("info", "openenv/FrozenLake-v1", "--json").stdout)
    assert (told["id"], told["project"]) == ("openenv/FrozenLake-v1", "gymnasium")


def test_a_folder_is_told_by_its_manifest(tmp_path: Path) -> None:
    make_project(new_project("walk", "typed", tmp_path / "walk"))
    told = json.loads(openenv("info", "./walk", "--json", cwd=tmp_path).stdout)
    assert (told["id"], told["max_episode_steps"]) == ("openenv/Walk-v0", 100)


def test_what_is_none_of_these_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, told in (("./nowhere", "no folder"), ("not a name", "no environment"), ("http://evil.example/a/b", "")):
        run = invoked("info", text)
        assert (run.returncode, run.stdout) == (2, ""), text
        assert told in run.stderr
        assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "text", ["openenv/Blackjak-v0", "blackjack", "Blackjack", "BlackJack-v0", "openenv/Blackjack-v1"]
)
def test_the_nearest_id_is_named_and_nobody_asked(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    run = invoked("info", text)
    assert (run.returncode, run.stdout) == (2, "")
    assert "Did you mean openenv/Blackjack-v0?" in run.stderr


def test_a_space_is_told_a_fact_a_line_with_its_manifest_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_for(monkeypatch, tmp_path) as hub:
        hub.add("ann/echoing", ECHO_FILES, title="Echo\n\x1b[31m\u202e", likes=7)
        shown = invoked("info", "ann/echoing").stdout
        told = json.loads(invoked("info", "ann/echoing", "--json").stdout)
    facts = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert (facts["id"], facts["title"], facts["likes"]) == ("ann/echoing", "Echo [31m", "7")
    assert json.loads(facts["manifest"]) == told["manifest"]
    assert told["manifest"]["name"] == "echo"
