"""The list of checks: what is registered, documented and can be chosen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError, ConnectionLost

from openenv_gym.testing.conformance import CHECKS, Status
from openenv_gym.testing.conformance.checks import Check, NotApplicable, Problem, Severity, chosen

PAGE = Path(__file__).parents[3] / "docs" / "validating.md"


def test_the_page_lists_every_check_with_its_group_and_its_severity() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = [
        (each.name, each.group, each.told.replace("``", "`") + (" *" if each.severity == "advisory" else ""))
        for each in CHECKS
    ]
    assert listed == told


def test_names_are_unique_and_no_group_has_the_name_of_another_groups_check() -> None:
    groups = {each.name: each.group for each in CHECKS}
    assert len(groups) == len(CHECKS)
    assert all(groups[name] == name for name in groups.keys() & set(groups.values()))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_only_security_and_style_are_advice(check: Check) -> None:
    assert (check.severity == "advisory") == (check.group in ("security", "style"))
    assert check.told.endswith(".")


def test_checks_are_chosen_by_name_and_by_group() -> None:
    assert [each.name for each in chosen(["seeds", "bad-json"], static=False)] == [
        "bad-json",
        "same-seed-same-trajectory",
        "sessions-independent",
    ]
    assert chosen(["seeds"], static=True) == []
    with pytest.raises(ConfigurationError, match=r"'bad_json'.*Did you mean 'bad-json'"):
        chosen(["bad_json"], static=False)


@pytest.mark.parametrize(
    ("severity", "strict", "raised", "status"),
    [
        ("required", False, None, Status.PASSED),
        ("required", False, NotApplicable("x"), Status.SKIPPED),
        ("required", False, Problem("x"), Status.FAILED),
        ("required", True, Problem("x", is_advice=True), Status.ADVICE),
        ("advisory", False, Problem("x"), Status.ADVICE),
        ("advisory", True, Problem("x"), Status.FAILED),
        ("required", False, ConnectionLost("x"), Status.FAILED),
        ("advisory", False, KeyError("x"), Status.FAILED),
    ],
    ids=lambda value: str(value),
)
def test_how_a_check_ends_is_its_status(
    severity: Severity, strict: bool, raised: Exception | None, status: Status
) -> None:
    def body(subject: object) -> str | None:
        if raised is not None:
            raise raised
        return f"saw {subject}"

    finding = Check("a-check", "style", severity, "It is so.", body, is_static=False).made("it", strict=strict)
    assert finding.status is status
    assert "x" in finding.message or finding.message == "saw it"
