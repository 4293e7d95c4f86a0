"""What checks found, and how it is told to programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It could not be made, or there was nothing to check; the message says why."""
    ADVICE = "advice"
    """What it found is no fault, but should be known."""


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: The check's name.
        group: Its group.
        status: How it ended.
        message: What was found; may be empty where it passed.
        remedy: What to do about it; empty where there is nothing to do.
    """

    check: str
    group: str
    status: Status
    message: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Report:
    """What all checks of a server or a project found.

    Attributes:
        target: What was checked: an address or a folder.
        findings: One a check, in the order of ``CHECKS``.
        figures: Latencies in milliseconds, by name.
    """

    target: str
    findings: tuple[Finding, ...]
    figures: dict[str, float]

    @property
    def failed(self) -> tuple[Finding, ...]:
        """What has to be mended."""
        return tuple(finding for finding in self.findings if finding.status is Status.FAILED)

    @property
    def is_ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    def joined(self, other: Report) -> Report:
        """This report and another one, of the same target."""
        return Report(self.target, self.findings + other.findings, self.figures | other.figures)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        findings = [asdict(finding) for finding in self.findings]
        return {"target": self.target, "ok": self.is_ok, "findings": findings, "figures": self.figures}

    def to_junit(self) -> str:
        """The report as JUnit's XML; advice stands in the output of its case."""
        counts = {"tests": len(self.findings), "failures": len(self.failed), "skipped": self._count(Status.SKIPPED)}
        suite = ElementTree.Element("testsuite", name=_printable(self.target), errors="0")
        suite.attrib |= {name: str(count) for name, count in counts.items()}
        for finding in self.findings:
            _add_case(suite, finding)
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"

    def _count(self, status: Status) -> int:
        return sum(finding.status is status for finding in self.findings)


def _add_case(suite: ElementTree.Element, finding: Finding) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=finding.group, name=finding.check)
    told = _printable(f"{finding.message} {finding.remedy}".strip())
    if finding.status is Status.FAILED:
        ElementTree.SubElement(case, "failure", message=told)
    elif finding.status is Status.SKIPPED:
        ElementTree.SubElement(case, "skipped", message=told)
    elif told:
        ElementTree.SubElement(case, "system-out").text = told


def _printable(text: str) -> str:
    """The text without what XML cannot hold: a server's words may have any character."""
    return "".join(character for character in text if character in "\n\t" or _is_xml(ord(character)))


def _is_xml(point: int) -> bool:
    return 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000
