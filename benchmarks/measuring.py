"""Measures groups: rounds of steps, the memory of servers and sessions, and sessions whose trainer is idle."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.clocks import cpu_seconds, resident_bytes
from benchmarks.contenders import CONTENDERS
from benchmarks.interpreters import VenvUnavailable
from benchmarks.processes import ContenderFailed, Process, cores_of, start_driver, start_server
from benchmarks.rows import IDLE_SECONDS
from benchmarks.samples import Configuration, Sample, stepping_values

FIRST_SESSIONS = 8
"""Opened before sessions are weighed, so that what is made once does not count."""

MOST_WEIGHINGS = 3
"""Rounds in which sessions are weighed: it takes a server each time, and varies little."""


@dataclass(frozen=True)
class Settings:
    """How long is measured.

    Attributes:
        rounds: How many rounds a group has.
        seconds: What each configuration gets in a round.
        idle_seconds: How long the idle trainer is idle.
        say: What tells about progress and what is left out.
    """

    rounds: int = 7
    seconds: float = 0.7
    idle_seconds: float = IDLE_SECONDS
    say: Callable[[str], None] = print


@dataclass
class Running:
    """A configuration whose processes run."""

    configuration: Configuration
    driver: Process
    server: Process | None

    def run(self, seconds: float) -> dict[str, float]:
        """Steps for some seconds; what was measured."""
        server = [] if self.server is None else [self.server.pid]
        client_before, server_before = cpu_seconds([self.driver.pid]), cpu_seconds(server)
        self.driver.tell({"do": "run", "seconds": seconds})
        told = self.driver.answer()
        client, served = cpu_seconds([self.driver.pid]), cpu_seconds(server)
        return stepping_values(
            steps=told["steps"],
            seconds=told["seconds"],
            lanes=self.configuration.lanes,
            p95_batch_seconds=told["p95_batch_seconds"],
            client_cpu=client - client_before,
            server_cpu=served - server_before,
        )

    def kept(self) -> int:
        """How many lanes are where they must be after the steps so far."""
        self.driver.tell({"do": "check"})
        return int(self.driver.answer()["kept"])

    def check(self) -> None:
        """Raises ContenderFailed unless every lane is where it must be: fast and wrong is no result."""
        kept = self.kept()
        if kept != self.configuration.lanes:
            raise ContenderFailed(f"{self.configuration}: only {kept} lanes are where they must be.")


class Failures:
    """Configurations that failed: the others are measured without them.

    Args:
        say: What is told why.

    Attributes:
        configurations: Those that failed.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.configurations: set[Configuration] = set()
        self._say = say

    @contextmanager
    def noted(self, configuration: Configuration) -> Iterator[None]:
        """Notes a configuration whose processes fail in the block, and goes on behind it."""
        try:
            yield
        except (ContenderFailed, VenvUnavailable) as error:
            self.configurations.add(configuration)
            self._say(f"{configuration.contender} with {configuration.lanes} lanes is left out: {error}")


def measure(group: str, configurations: Sequence[Configuration], settings: Settings) -> list[Sample]:
    """Measures one group; without those that fail, or whose lanes are not where they must be in the end."""
    special = {"sessions": _sessions, "resident": _resident, "idle": _idle}
    failures = Failures(settings.say)
    found = list(_available(configurations, settings))
    samples = list(special.get(group, _rounds)(group, found, settings, failures))
    return [sample for sample in samples if sample.configuration not in failures.configurations]


def _available(configurations: Iterable[Configuration], settings: Settings) -> Iterator[Configuration]:
    for configuration in configurations:
        needed = CONTENDERS[configuration.contender].needs
        if needed is not None and importlib.util.find_spec(needed) is None:
            settings.say(f"{configuration.contender} is left out: {needed} is not installed")
        else:
            yield configuration


def _rounds(
    group: str, configurations: Sequence[Configuration], settings: Settings, failures: Failures
) -> Iterator[Sample]:
    with ExitStack() as stack:
        running = _all_running(stack, configurations, failures)
        for each in running:
            with failures.noted(each.configuration):
                each.run(settings.seconds)  # the first steps import, compile and fill caches
        for number in range(settings.rounds):
            settings.say(f"{group}: round {number + 1} of {settings.rounds}")
            for each in rotated(
                [each for each in running if each.configuration not in failures.configurations], number
            ):
                with failures.noted(each.configuration):
                    yield Sample(group, each.configuration, number, each.run(settings.seconds))
        for each in running:
            with failures.noted(each.configuration):
                each.check()


def rotated(members: Sequence[Running], number: int) -> list[Running]:
    """The members, each round beginning with the next one, so that none always follows the same neighbour first."""
    start = number % len(members) if members else 0
    return [*members[start:], *members[:start]]


def _all_running(stack: ExitStack, configurations: Sequence[Configuration], failures: Failures) -> list[Running]:
    running = []
    for configuration in configurations:
        with failures.noted(configuration):
            running.append(stack.enter_context(_running(configuration)))
    return running


@contextmanager
def _running(configuration: Configuration) -> Iterator[Running]:
    contender = CONTENDERS[configuration.contender]
    server_cores, driver_cores = cores_of(contender)
    with ExitStack() as stack:
        server, base_url = None, None
        if contender.server is not None:
            server, base_url = start_server(contender.server, server_cores)
            stack.callback(server.end)
            stack.callback(server.terminate)
        driver = start_driver(contender, configuration.lanes, base_url, driver_cores)
        stack.callback(driver.end)
        driver.answer()
        yield Running(configuration, driver, server)


def _sessions(
    group: str, configurations: Sequence[Configuration], settings: Settings, failures: Failures
) -> Iterator[Sample]:
    for number in range(min(settings.rounds, MOST_WEIGHINGS)):
        settings.say(f"{group}: round {number + 1} of {min(settings.rounds, MOST_WEIGHINGS)}")
        for configuration in configurations:
            with failures.noted(configuration):
                yield Sample(group, configuration, number, {"session_kb": _session_kb(configuration)})


def _session_kb(configuration: Configuration) -> float:
    contender = CONTENDERS[configuration.contender]
    assert contender.server is not None
    server_cores, driver_cores = cores_of(contender)
    with ExitStack() as stack:
        server, base_url = start_server(contender.server, server_cores)
        stack.callback(server.end)
        stack.callback(server.terminate)
        weights = []
        for lanes in (FIRST_SESSIONS, configuration.lanes):
            driver = start_driver(contender, lanes, base_url, driver_cores)
            stack.callback(driver.end)
            driver.answer()
            running = Running(Configuration(configuration.contender, lanes), driver, server)
            running.check()
            weights.append(resident_bytes(server.pid))
    return (weights[1] - weights[0]) / configuration.lanes / 1024


def _resident(
    group: str, configurations: Sequence[Configuration], settings: Settings, failures: Failures
) -> Iterator[Sample]:
    settings.say(f"{group}: one round")
    for configuration in configurations:
        with failures.noted(configuration):
            yield Sample(group, configuration, 0, {"resident_mb": _resident_mb(configuration)})


def _resident_mb(configuration: Configuration) -> float:
    contender = CONTENDERS[configuration.contender]
    assert contender.server is not None
    server, _ = start_server(contender.server, cores_of(contender)[0])
    try:
        return resident_bytes(server.pid) / 2**20
    finally:
        server.terminate()
        server.end()


def _idle(
    group: str, configurations: Sequence[Configuration], settings: Settings, failures: Failures
) -> Iterator[Sample]:
    with ExitStack() as stack:
        running = _all_running(stack, configurations, failures)
        for each in running:
            with failures.noted(each.configuration):
                each.check()
        settings.say(f"{group}: {settings.idle_seconds:g} s without a step")
        time.sleep(settings.idle_seconds)
        for each in running:
            yield Sample(group, each.configuration, 0, {"kept": _share_kept(each)})


def _share_kept(running: Running) -> float:
    try:
        return running.kept() / running.configuration.lanes
    except ContenderFailed:
        return 0.0
