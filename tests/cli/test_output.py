from __future__ import annotations

import io
import json
import sys

import pytest
from openenv_gym_cli import output
from openenv_gym_registry.manifest import parse_manifest


def test_what_steers_a_terminal_does_not_reach_it(capsys: pytest.CaptureFixture[str]) -> None:
    output.data("a\x1b[2Jb\rc\u202ed")
    output.note("e\x07f\x9b31mg")
    output.table(["N"], [["h\x1b]0;title\x07i"]], empty="")
    said = capsys.readouterr()
    assert [line.strip() for line in said.out.splitlines()] == ["a[2Jbcd", "N", "h]0;titlei"]
    assert said.err == "ef31mg\n"


def test_rows_are_lines_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["ID", "WHAT"], [["one", "x" * 300], ["two", None], ["[red]three", "[b]"]], empty="none")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["ID", "WHAT"], ["one", "x" * 300], ["two"], ["[red]three", "[b]"]]


def test_no_rows_are_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["ID"], [], empty="Nothing runs.")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Nothing runs.\n")


def test_facts_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    output.facts({"name": "a", "empty": None, "longer": 0})
    assert capsys.readouterr().out == "name    a\nlonger  0\n"


def test_json_holds_the_fields_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    output.data_json({"manifest": parse_manifest("name: a\nx-openenv-gym: {info_keys: [b]}")})
    told = json.loads(capsys.readouterr().out)
    assert told == {"manifest": {"name": "a", "x-openenv-gym": {"info_keys": ["b"]}}}


def test_nothing_is_done_unasked_where_nobody_can_be_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert not output.confirmed("End it?", yes=False)
    assert "--yes" in capsys.readouterr().err
    assert output.confirmed("End it?", yes=True)


def test_progress_is_lines_beside_the_data_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("building") as shown:
        shown.to(1, 2, "step 1")
        shown.line("one")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "one\n")


def test_a_value_of_several_lines_forges_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    output.facts({"title": "a\nprivate  False", "private": True})
    output.table(["TITLE"], [["b\nc\u2028d"]], empty="")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["title    a private  False", "private  True", "TITLE", "b c d"]
