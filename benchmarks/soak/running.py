"""Servers behind a network that is cut, and a client that steps their lanes for minutes."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.clocks import cpu_seconds
from benchmarks.contenders import Contender, Server
from benchmarks.processes import ContenderFailed, Process, start_driver, start_server
from benchmarks.soak.records import Record, held
from tests.support.broken_network import BrokenNetwork, broken_network

LINGER_SECONDS = 2.0
"""How long a server keeps the lanes of a connection that is gone."""


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        lanes: Of one vector environment.
        servers: How many server processes they are on.
        minutes: How long.
        pause: Seconds between two steps.
        every: Seconds between two records; in the midst of them connections are cut.
        execution: Where the environments run in their server.
    """

    lanes: int = 256
    servers: int = 1
    minutes: float = 60.0
    pause: float = 0.1
    every: float = 5.0
    execution: str = "thread"


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        records: One every few seconds.
        counts: Ended episodes, failures by their class, cuts, and rows that were not what they must be.
        kept: Lanes that answered at the end.
    """

    records: list[Record] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    kept: int = 0


def run(plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Runs a plan to its end.

    Raises:
        ContenderFailed: A process ended.
    """
    outcome = Outcome()
    with ExitStack() as stack:
        servers = [stack.enter_context(_server(plan)) for _ in range(plan.servers)]
        networks = [stack.enter_context(broken_network(url, seed)) for seed, (_, url) in enumerate(servers)]
        driver = stack.enter_context(_driver(plan, [network.base_url for network in networks]))
        cuts = _cuts(networks)
        begun, steps = time.monotonic(), 0
        while (at := time.monotonic() - begun) < plan.minutes * 60:
            driver.tell({"do": "run", "seconds": plan.every})
            time.sleep(plan.every / 2)
            outcome.counts[next(cuts)] += 1
            answer = driver.answer()
            steps += answer["steps"]
            outcome.counts.update(answer["told"])
            pids = [process.pid for process, _ in servers]
            used = cpu_seconds([driver.pid, *pids])
            outcome.records.append(Record(at, held([driver.pid]), held(pids), used, steps))
            say(f"{at:.0f} s: {steps:,} steps, {outcome.counts['episodes']:,} episodes, {outcome.records[-1].server}")
        outcome.kept = _kept(driver, plan.lanes)
    return outcome


def _cuts(networks: list[BrokenNetwork]) -> Iterator[str]:
    # In turn: none, all connections of one server, only the client's sides, so that the server has to find out, and at
    # times nothing goes until the lanes' sessions are over.
    for number in itertools.count():
        network = networks[number % len(networks)]
        if number % 4 == 1:
            network.is_down = True
            network.cut()
            time.sleep(2 * LINGER_SECONDS)
            network.is_down = False
            yield "outages longer than sessions linger"
        yield "times without a cut"
        network.cut()
        yield "cuts of both sides"
        network.cut_client_sides()
        yield "cuts of the client's side"


def _kept(driver: Process, lanes: int) -> int:
    # Lanes that have just been cut or failed may need a step or two.
    kept = 0
    for _ in range(5):
        driver.tell({"do": "check"})
        kept = max(kept, int(driver.answer()["kept"]))
        if kept == lanes:
            break
    return kept


@contextmanager
def _server(plan: Plan) -> Iterator[tuple[Process, str]]:
    settings = {
        "BENCHMARK_EXECUTION": plan.execution,
        # Twice as many as there are: those of a connection that was cut may still be there.
        "BENCHMARK_SESSIONS": str(2 * plan.lanes),
        "OPENENV_GYM_LINGER": str(LINGER_SECONDS),
    }
    process, base_url = start_server(Server("benchmarks.apps.soaked:app", settings=settings), [])
    try:
        yield process, base_url
    finally:
        process.terminate()
        process.end()


@contextmanager
def _driver(plan: Plan, base_urls: list[str]) -> Iterator[Process]:
    contender = Contender("soak", "soaked", None, arguments={"pause": plan.pause})
    process = start_driver(contender, plan.lanes, base_urls, [])
    try:
        if process.answer() != {"ready": True}:
            raise ContenderFailed(process.log())
        yield process
    finally:
        process.end()
