"""What holds for all tests: a required group may not be skipped, and interop tells how much it compared."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.stock import MINIMUM_EXCHANGES

REQUIRED = frozenset(filter(None, os.environ.get("OPENENV_GYM_REQUIRE", "").split(",")))
"""Groups (markers) that must run here: a skip of one of their tests is a failure."""

_FIRST_USE_SECONDS = 900
"""The first test of these groups that needs a virtual environment, a base image or wheels makes them."""

_MAKE_WHAT_THEY_NEED = (
    "interop",
    "interop_old",
    "containers",
    "images",
    "gymnasium_versions",
    "trainers",
    "environments",
)

_WHOLE_GROUPS = "whole groups"
"""What a worker process calls them to the one that it reports to."""

_compared: Counter[str] = Counter()
_whole_groups: set[str] = set()


def pytest_configure() -> None:
    """Takes interrupts as Python does: whoever starts a job in the background has it ignore them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns the skip of a required test into a failure."""
    report = yield
    markers = {marker.name.removesuffix("_old") for marker in item.iter_markers()}
    missed = sorted(REQUIRED & markers)
    if missed and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"OPENENV_GYM_REQUIRE names {', '.join(missed)}, but the test was skipped: {reason}"
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives more time to tests that may have to make what they need; worker processes begin with the longest."""
    for item in items:
        makes = any(item.get_closest_marker(name) for name in _MAKE_WHAT_THEY_NEED)
        if makes and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_FIRST_USE_SECONDS))
    if hasattr(config, "workerinput"):
        from tests.support.distribution import longest_first  # pytest-xdist is not in every interpreter

        longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Says which tests stay together when several worker processes share a run."""
    from tests.support.distribution import Groups

    return Groups(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes which groups of interop tests run as a whole: only then does their minimum apply."""
    narrowed = session.config.option.keyword or any("::" in argument for argument in session.config.args)
    files = {"interop": set[Path](), "interop_old": set[Path]()}
    for item in session.items:
        for name, found in files.items():
            if item.get_closest_marker(name):
                found.add(item.path)
    folder = Path(__file__).parent / "interop"
    old = {folder / "test_old_releases.py"}
    whole = {"interop": set(folder.glob("test_*.py")) - old, "interop_old": old}
    _whole_groups.update(name for name, found in files.items() if found == whole[name] and not narrowed)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up what the tests compared, also from other worker processes."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name.startswith("exchanges with openenv "):
                _compared[name.removeprefix("exchanges with openenv ")] += int(str(value))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Makes a report fit to be sent: a test may have captured lone surrogates, which no worker process can send."""
    return _encodable((yield))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes over what a worker process noted: the process that it reports to collects no tests."""
    _whole_groups.update(getattr(node, "workeroutput", {}).get(_WHOLE_GROUPS, ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run that compared less than it must; a worker process leaves that to the one that it reports to."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_WHOLE_GROUPS] = sorted(_whole_groups)
    elif session.exitstatus == pytest.ExitCode.OK and _missed_minimums():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells the versions and numbers, so that a green run shows what it was green about."""
    if _compared:
        terminalreporter.section("interop")
    for version, count in sorted(_compared.items()):
        terminalreporter.write_line(f"openenv {version}: {count} exchanges compared")
    for line in _missed_minimums():
        terminalreporter.write_line(line, red=True)


def _encodable(data: Any) -> Any:
    match data:
        case str():
            return data.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {_encodable(key): _encodable(value) for key, value in data.items()}
        case list() | tuple():
            return type(data)(_encodable(each) for each in data)
    return data


def _missed_minimums() -> list[str]:
    return [
        f"openenv {version}: at least {least} exchanges must be compared, not {_compared[version]}"
        for group, minimums in MINIMUM_EXCHANGES.items()
        if group in _whole_groups
        for version, least in minimums.items()
        if _compared[version] < least
    ]
