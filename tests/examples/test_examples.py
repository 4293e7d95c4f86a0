"""Every example runs as its reader would run it, and prints what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import running_server

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOOLS = "Tools: echo_message, echo_with_length"

PRINTED = {
    "echo_async.py": ["Reset: Echo environment ready!", "  -> Echoed: Hello, World!", "  -> Echoed: Final message"],
    "echo_sync.py": ["Reset: Echo environment ready!", "Echoed: Hello!", "State: 1 steps"],
    "echo_async_tool_results.py": [
        "Reset: Echo environment ready!",
        TOOLS,
        "Result: {'message': 'Hello!', 'length': 6}",
    ],
    "echo_sync_tool_results.py": ["Reset: Echo environment ready!", "Result: Hello!"],
}
"""Lines that each getting-started program prints."""


@pytest.fixture(scope="module")
def echo_server() -> Iterator[str]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "echo") as server:
        yield server.base_url


def _run(*command: str) -> str:
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=90, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_every_getting_started_program_is_tested() -> None:
    assert {path.name for path in (EXAMPLES / "getting_started").glob("*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_a_getting_started_program_prints_what_openenvs_does(name: str, echo_server: str) -> None:
    printed = _run(str(EXAMPLES / "getting_started" / name), echo_server).splitlines()
    assert [line for line in PRINTED[name] if line not in printed] == []


def test_the_vectorised_rollout_tells_its_speed_and_how_it_played() -> None:
    printed = _run(str(EXAMPLES / "vectorised_rollout.py"), "--hands", "500", "--num-envs", "8")
    assert re.search(r"[\d,]+ steps of 8 lanes in [\d.]+ s: [\d,]+ steps/s", printed)
    told = re.search(r"hands: ([\d.]+)% won, ([\d.]+)% drawn, ([\d.]+)% lost", printed)
    assert told
    won, drawn, lost = map(float, told.groups())
    assert won + drawn + lost == pytest.approx(100, abs=0.2)
    # 500 hands of basic strategy win 42.4 % with a deviation of 2.2 points.
    assert 30 < won < 55


@pytest.mark.parametrize("arguments", [("--num-envs", "0"), ("--hands", "-4"), ("--hands", "ten"), ("--seed", "-1")])
def test_the_vectorised_rollout_refuses_what_cannot_be(arguments: tuple[str, str]) -> None:
    command = [sys.executable, str(EXAMPLES / "vectorised_rollout.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert run.returncode == 2
    assert f"argument {arguments[0]}: {arguments[1]!r} is no integer of at least" in run.stderr
    assert "Traceback" not in run.stderr
