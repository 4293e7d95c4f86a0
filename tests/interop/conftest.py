"""Servers of the real openenv and of this project for the interop tests, and the count of what was compared."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.comparing import Compared
from tests.support.mcp_clients import CLIENTS, mcp_client
from tests.support.stock import (
    CURRENT,
    OLD,
    PROGRAMS,
    StockEnvironment,
    StockUnavailable,
    is_there,
    serving,
    stock_environment,
    venvs_root,
)

RESULTS = Path(__file__).parent / "results.md"

APPS = ("probe_app", "async_app", "plain_app", "broken_app", "production_app")
"""The probe's apps; each kind of server serves them all."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Makes the virtual environments before the tests' own time-outs run.

    Of several worker processes the one that runs these tests makes them, and the others have something else to do.
    """
    if hasattr(session.config, "workerinput"):
        return
    chosen = {name for item in session.items for name in ("interop", "interop_old") if item.get_closest_marker(name)}
    wanted = [(CURRENT, False), (CURRENT, True)] if "interop" in chosen else []
    wanted += [(version, False) for version in OLD] if "interop_old" in chosen else []
    for version, with_ours in [] if session.config.option.collectonly else wanted:
        if not is_there(version, with_ours=with_ours):
            terminal = session.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is not None:
                terminal.write_line(f"installing openenv {version} into {venvs_root()}, once", flush=True)
        # Where one cannot be made, the fixtures below skip, or fail where the group is required.
        with suppress(StockUnavailable):
            stock_environment(version, with_ours=with_ours)
    for client in CLIENTS if wanted and not session.config.option.collectonly else ():
        with suppress(StockUnavailable):
            mcp_client(client)


def available(version: str = CURRENT, *, with_ours: bool = False) -> StockEnvironment:
    """The environment, or a skip with the reason."""
    try:
        return stock_environment(version, with_ours=with_ours)
    except StockUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def stock() -> StockEnvironment:
    """openenv, alone in its environment."""
    return available()


@pytest.fixture(scope="session")
def stock_servers(stock: StockEnvironment) -> Iterator[dict[str, str]]:
    """The base URLs of all apps under openenv's own server."""
    names = [f"probe:{app}" for app in APPS]
    with serving(stock.python, [*names, "scored:scored_app", "counter:counter_app"]) as urls:
        yield {name.partition(":")[2]: url for name, url in urls.items()}


@pytest.fixture(scope="session")
def our_servers() -> Iterator[dict[str, str]]:
    """The base URLs of the same apps, the environments unchanged, under this project's server."""
    python = available(with_ours=True).python
    names = [f"served_by_ours:{app}" for app in (*APPS, "scored_app", "counter_app", "echo_app")]
    with serving(python, names) as urls:
        yield {name.partition(":")[2]: url for name, url in urls.items()}


@pytest.fixture(scope="session")
def ported_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The base URLs of the same apps after their import was changed, where no openenv is installed."""
    folder = tmp_path_factory.mktemp("ported")
    for name in ("probe.py", "counter.py"):
        port(PROGRAMS / name, folder / name)
    names = [*(f"probe:{app}" for app in APPS), "counter:counter_app"]
    with serving(sys.executable, names, cwd=folder) as urls:
        yield {name.partition(":")[2]: url for name, url in urls.items()}


def port(source: Path, target: Path) -> None:
    """Ports an environment: changes its import, and nothing else."""
    text = source.read_text(encoding="utf-8")
    assert "from openenv.core.env_server import" in text
    ported = text.replace("from openenv.core.env_server import", "from openenv_gym_server import")
    target.write_text(ported, encoding="utf-8")


@pytest.fixture
def compared(request: pytest.FixtureRequest, stock: StockEnvironment) -> Iterator[Compared]:
    """Counts for the run's summary, under the version that was read inside the environment."""
    counter = Compared()
    yield counter
    request.node.user_properties.append((f"exchanges with openenv {stock.version}", counter.count))


@pytest.fixture(autouse=True, scope="session")
def _no_proxy() -> Iterator[None]:
    """Keeps a proxy of the machine out of loopback exchanges, for the other interpreters too."""
    before = {name: os.environ.pop(name, None) for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    yield
    os.environ.update({name: value for name, value in before.items() if value is not None})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Writes ``results.md`` after a run with earlier releases."""
    config = terminalreporter.config
    if config.option.keyword or any("::" in argument for argument in config.args):
        return
    rows: dict[str, list[int]] = {}
    for report in terminalreporter.stats.get("", []):
        for name, value in getattr(report, "user_properties", ()):
            version = name.removeprefix("exchanges with openenv ")
            if report.when == "teardown" and "test_old_releases" in report.nodeid:
                tests, exchanges = rows.get(version, [0, 0])
                rows[version] = [tests + 1, exchanges + int(value)]
    failed = sum("test_old_releases" in report.nodeid for report in terminalreporter.stats.get("failed", []))
    if rows:
        RESULTS.write_text(results_page(rows, failed), encoding="utf-8")


def results_page(rows: dict[str, list[int]], failed: int) -> str:
    """The results as a page: by release, how many tests ran and how many exchanges they compared."""
    lines = [
        "# Interop with earlier releases of openenv",
        "",
        "Written by `make test-interop-old`. Each release is installed in a virtual environment of its own; its server",
        "and ours answer the same frames, its clients play at our server, and our clients, `RemoteEnv` and",
        "`RemoteVectorEnv` play at its server.",
        "",
        "| openenv | tests | exchanges compared |",
        "|---|---|---|",
        *(f"| {version} | {tests} | {exchanges} |" for version, (tests, exchanges) in sorted(rows.items())),
        "",
        f"Failed tests: {failed}.",
    ]
    return "\n".join(lines) + "\n"
