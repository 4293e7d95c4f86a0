"""The conformance kit at openenv's own servers: what they do is what it asks for."""

from __future__ import annotations

import pytest

from openenv_gym.testing.conformance import Report, Status, validate_server
from tests.support.stock import StockEnvironment, serving

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def reports(stock_servers: dict[str, str], stock: StockEnvironment) -> dict[str, Report]:
    with serving(stock.python, ["stock_echo:app"]) as echo:
        urls = {"stock_echo": echo["stock_echo:app"]} | {name: stock_servers[name] for name in PASSING[1:]}
        return {name: validate_server(url) for name, url in urls.items()}


PASSING = ("stock_echo", "probe_app", "plain_app", "production_app", "async_app", "counter_app")


@pytest.mark.parametrize("app", PASSING)
def test_its_servers_pass_every_check(app: str, reports: dict[str, Report]) -> None:
    assert reports[app].failed == ()


def statuses(report: Report) -> dict[str, Status]:
    return {finding.check: finding.status for finding in report.findings}


def test_tools_pages_and_capacity_are_seen(reports: dict[str, Report]) -> None:
    assert statuses(reports["stock_echo"])["tools-list"] is Status.PASSED
    production = statuses(reports["production_app"])
    assert {production[page] for page in ("reset-page", "step-page", "state-page")} == {Status.SKIPPED}
    told = {finding.check: finding.message for finding in reports["plain_app"].findings}
    assert told["second-session-or-refusal"] == "1 at once"


def test_what_it_leaves_open_is_advice(reports: dict[str, Report]) -> None:
    found = statuses(reports["counter_app"])
    advice = {name for name, status in found.items() if status is Status.ADVICE}
    assert advice == {"token-asked-for", "foreign-origin-refused", "foreign-host-refused", "no-compression"}


def test_a_server_that_makes_no_environment_fails_without_an_end_to_the_checks(stock_servers: dict[str, str]) -> None:
    report = validate_server(stock_servers["broken_app"], checks=["health-page", "reset-frame", "rewards-finite"])
    assert [finding.check for finding in report.failed] == ["reset-frame", "rewards-finite"]
    assert "FACTORY_ERROR" in report.failed[0].message
