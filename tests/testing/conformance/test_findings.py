"""Reports as programs read them."""

from __future__ import annotations

from xml.etree import ElementTree

from openenv_gym.testing.conformance import Finding, Report, Status

REPORT = Report(
    "http://x",
    (
        Finding("a", "wire", Status.PASSED),
        Finding("b", "wire", Status.FAILED, 'said "<no>" \x1b[31m', "Mend it."),
        Finding("c", "mcp", Status.SKIPPED, "no tools"),
        Finding("d", "style", Status.ADVICE, "could be better"),
    ),
    {"step_p50_ms": 1.5},
)


def test_a_report_is_ok_when_nothing_failed() -> None:
    assert [finding.check for finding in REPORT.failed] == ["b"]
    assert not REPORT.is_ok
    assert Report("x", REPORT.findings[2:], {}).is_ok


def test_json_has_every_finding() -> None:
    data = REPORT.to_json()
    assert (data["target"], data["ok"], data["figures"]) == ("http://x", False, {"step_p50_ms": 1.5})
    assert [finding["status"] for finding in data["findings"]] == ["passed", "failed", "skipped", "advice"]
    assert data["findings"][1]["remedy"] == "Mend it."


def test_junit_counts_and_leaves_out_what_xml_cannot_hold() -> None:
    suite = ElementTree.fromstring(REPORT.to_junit())[0]
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "4",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == 'said "<no>" [31m Mend it.'
    assert [case.attrib["classname"] for case in suite] == ["wire", "wire", "mcp", "style"]
    assert suite.findtext("testcase/system-out") == "could be better"
