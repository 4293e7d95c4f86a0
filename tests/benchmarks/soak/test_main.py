"""A soak of some seconds, with real servers, a client, and a network that is cut."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.soak import report
from benchmarks.soak.__main__ import main
from benchmarks.soak.records import Held, Record
from benchmarks.soak.running import Outcome, Plan

HELD = Held(resident=100_000_000, descriptors=16, threads=257)
RECORDS = [Record(float(at), HELD, HELD, 0.1 * at, 1000 * at) for at in range(30)]


def outcome(**changes: object) -> Outcome:
    """A good one, with changes."""
    return replace(Outcome(RECORDS, Counter({"wrong rows": 0}), kept=8), **changes)  # type: ignore[arg-type]


def test_a_short_soak_steps_cuts_records_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # What a process needs at first looks like growth in so short a time: only what is certain is asked for.
    size = ["--lanes", "8", "--servers", "2", "--minutes", "0.05"]
    main(["--scale", *size, "--every", "0.3", "--pause", "0.01", "--out", str(tmp_path)])
    told = json.loads((tmp_path / "scale.json").read_text(encoding="utf-8"))
    assert told["counts"]["wrong rows"] == 0
    assert told["counts"]["episodes"] > 0
    assert told["counts"]["cuts of both sides"] > 0
    assert told["counts"]["outages longer than sessions linger"] > 0
    assert told["counts"]["failed: infrastructure"] > 0
    assert told["lanes_at_the_end"] == 8
    assert told["plan"]["servers"] == 2
    assert told["records"][-1]["steps"] > told["records"][0]["steps"] > 0
    assert [fault for fault in told["faults"] if "grew" not in fault] == []
    assert "8 lanes on 2 server processes" in (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count(" steps, ") == len(told["records"])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"kept": 7}, "1 lanes did not answer at the end"),
        ({"counts": Counter({"wrong rows": 3})}, "3 rows were not those of their lane's next step"),
        (
            {"records": [*RECORDS[:20], *(replace(each, client=replace(HELD, threads=258)) for each in RECORDS[20:])]},
            "client: threads grew from 257 to 258",
        ),
    ],
)
def test_a_run_with_a_fault_says_which(changes: dict[str, object], fault: str) -> None:
    assert report.faults_of(outcome(), Plan(lanes=8)) == []
    assert report.faults_of(outcome(**changes), Plan(lanes=8)) == [fault]
