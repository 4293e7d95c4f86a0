"""A short run with real servers and drivers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import main, write
from benchmarks.contenders import CONTENDERS, Server
from benchmarks.machine import machine_facts
from benchmarks.measuring import Running, Settings, measure, rotated
from benchmarks.processes import ContenderFailed, cores_of, start_driver, start_server
from benchmarks.report import targets_as_markdown
from benchmarks.rows import ROWS
from benchmarks.samples import Configuration, Samples

ARRAYS = [Configuration("arrays", 8), Configuration("arrays", 32)]
SHORT = Settings(rounds=2, seconds=0.05, say=lambda _: None)


def test_a_short_run_of_a_row_measures_prints_and_writes(tmp_path: Path) -> None:
    samples = Samples(measure("many", ARRAYS, SHORT))
    assert [sample.configuration for sample in samples.every] == [*ARRAYS, *reversed(ARRAYS)]
    for sample in samples.every:
        assert sample.values["rate"] > 0
        assert sample.values["cpu"] == pytest.approx(sample.values["client_cpu"] + sample.values["server_cpu"])
        assert min(sample.values["client_cpu"], sample.values["server_cpu"]) > 0
    many = [row for row in ROWS if row.key == "many"]
    write(tmp_path, many, samples, machine_facts() | {"rounds": 2})
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(written["samples"]) == 4
    assert {target["mark"] for target in written["targets"]} > {"–"}
    assert (tmp_path / "steps_against_lanes.png").read_bytes().startswith(b"\x89PNG")
    assert "step_arrays, 32 lanes over 8" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_the_others_are_measured_without_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(CONTENDERS["arrays"], server=Server("benchmarks.apps.arrays:nothing"))
    monkeypatch.setitem(CONTENDERS, "broken", broken)
    told: list[str] = []
    settings = replace(SHORT, rounds=1, say=told.append)
    samples = measure("many", [Configuration("broken", 8), ARRAYS[0]], settings)
    assert [sample.configuration for sample in samples] == [ARRAYS[0]]
    assert told[0].startswith("broken with 8 lanes is left out")
    assert "nothing" in told[0]


def test_a_configuration_whose_lanes_are_wrong_is_not_in_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Running, "kept", lambda self: self.configuration.lanes - 1)
    assert measure("many", ARRAYS[:1], replace(SHORT, rounds=1)) == []


def test_rounds_begin_with_one_configuration_after_the_other() -> None:
    members: list[Running] = [object(), object(), object()]  # type: ignore[list-item]
    first, second, third = members
    assert [rotated(members, number) for number in range(4)] == [
        [first, second, third], [second, third, first], [third, first, second], [first, second, third],
    ]  # fmt: skip


def test_a_lane_that_is_not_where_it_must_be_is_found() -> None:
    contender = CONTENDERS["arrays"]
    assert contender.server is not None
    server, base_url = start_server(contender.server, [])
    driver = start_driver(contender, 4, base_url, [])
    try:
        driver.answer()
        running = Running(Configuration("arrays", 4), driver, server)
        running.check()
        running = Running(Configuration("arrays", 5), driver, server)
        with pytest.raises(ContenderFailed, match="only 4 lanes"):
            running.check()
    finally:
        driver.end()
        server.terminate()
        server.end()


def test_a_driver_that_cannot_start_says_why() -> None:
    driver = start_driver(CONTENDERS["arrays"], 4, "http://127.0.0.1:9", [])
    try:
        with pytest.raises(ContenderFailed, match=r"127\.0\.0\.1:9"):
            driver.answer()
    finally:
        driver.end()


def test_server_and_driver_get_a_core_each_where_there_are_two() -> None:
    server, driver = cores_of(CONTENDERS["arrays"])
    if server != driver:
        assert len(server) == len(driver) == 1


def test_the_command_prints_the_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--targets"]) == 0
    assert capsys.readouterr().out.strip() == targets_as_markdown(ROWS)
