"""``openenv validate``: what it says of projects and servers, and how it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from openenv_gym.testing.conformance import CHECKS
from tests.cli.conftest import Machine
from tests.support.command import invoked, openenv
from tests.support.environments import EXTRAS
from tests.support.servers import running_server

ROOT = Path(__file__).parents[2]
# tests/environments has those that need a library; what commands drawn at random print in a terminal is not repeatable.
_LEFT_OUT = EXTRAS.keys() - {"gymnasium"} | {"terminal_git"}
PROJECTS = sorted(path.parent for path in (ROOT / "envs").glob("*/openenv.yaml") if path.parent.name not in _LEFT_OUT)
FAULTY = "tests.support.apps.faulty:app"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "echo"
    shutil.copytree(ROOT / "envs" / "echo", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def statuses(told: str) -> dict[str, str]:
    """The status of each check in a report as JSON."""
    report: dict[str, Any] = json.loads(told)
    return {finding["check"]: finding["status"] for finding in report["findings"]}


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda path: path.name)
def test_the_bundled_projects_pass_every_check(folder: Path, machine: Machine) -> None:
    done = openenv("validate", folder, "--trust", "--json", env=machine.env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = statuses(done.stdout)
    assert list(found) == [check.name for check in CHECKS if check.is_static] + [
        check.name for check in CHECKS if not check.is_static
    ]
    assert set(found.values()) <= {"passed", "skipped", "advice"}
    assert found["rewards-in-range"] == found["declared-spaces"] == "passed"
    assert json.loads(done.stdout)["figures"].keys() >= {"step_p50_ms", "step_p95_ms"}


@pytest.mark.parametrize("template", ["typed", "mcp", "gymnasium"])
def test_a_new_project_passes_at_once(template: str, tmp_path: Path, machine: Machine) -> None:
    assert openenv("init", "my_game", "--template", template, cwd=tmp_path).returncode == 0
    done = openenv("validate", "my_game", "--trust", cwd=tmp_path, env=machine.env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same-seed-same-trajectory" in done.stdout


def test_a_server_with_a_fault_ends_it_with_one_and_says_what_to_do(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    with running_server(FAULTY, env={"TEST_FAULT": "seed_ignored"}) as server:
        done = openenv("validate", "--url", server.base_url, "--junit", report)
    assert done.returncode == 1
    assert any(line.startswith("failed") and "same-seed-same-trajectory" in line for line in done.stdout.splitlines())
    assert "Draw every random number from a generator that reset(seed=) seeds" in done.stderr
    assert "1 of " in done.stderr
    suite = ElementTree.parse(report).getroot()[0]
    assert suite.attrib["failures"] == "1"
    assert [case.attrib["name"] for case in suite if case.find("failure") is not None] == ["same-seed-same-trajectory"]


def test_strictness_makes_advice_a_failure_and_checks_can_be_chosen() -> None:
    with running_server(FAULTY, env={"TEST_FAULT": ""}) as server:
        chosen = ("validate", "--url", server.base_url, "--check", "token-asked-for", "--check", "latency", "--json")
        lenient, strict = openenv(*chosen), openenv(*chosen, "--strict")
    expected = {"step-latency": "passed", "reset-latency": "passed", "token-asked-for": "advice"}
    assert (lenient.returncode, statuses(lenient.stdout)) == (0, expected)
    assert (strict.returncode, statuses(strict.stdout)) == (1, expected | {"token-asked-for": "failed"})


def test_a_token_is_read_from_a_variable_and_never_told() -> None:
    with running_server(FAULTY, env={"TEST_FAULT": "", "OPENENV_GYM_TOKEN": "s3cret"}) as server:
        given = ("validate", "--url", server.base_url, "--check", "security")
        done = openenv(*given, "--token", "env:MINE", env={"MINE": "s3cret"})
        refused = openenv(*given)
    assert done.returncode == 0
    assert "s3cret" not in done.stdout + done.stderr
    assert refused.returncode == 2
    assert "refused" in refused.stderr


def test_actions_can_be_given(tmp_path: Path) -> None:
    actions = tmp_path / "actions.json"
    actions.write_text('[{"by": 1}, {"by": 9}]', encoding="utf-8")
    with running_server(FAULTY, env={"TEST_FAULT": ""}) as server:
        done = openenv("validate", "--url", server.base_url, "--actions", actions, "--check", "samples-accepted")
    assert done.returncode == 1
    assert "{'by': 9}" in done.stdout


def test_code_is_not_run_on_this_machine_unless_it_is_trusted(project: Path, machine: Machine) -> None:
    app = project / "server" / "app.py"
    app.write_text(f"open({str(project / 'was-run')!r}, 'w')\n{app.read_text(encoding='utf-8')}", encoding="utf-8")
    done = openenv("validate", project, "--json", env=machine.env)
    assert done.returncode == 2
    assert set(statuses(done.stdout).values()) <= {"passed", "skipped"}
    assert "--trust" in done.stderr
    assert "--static" in done.stderr
    static = openenv("validate", project, "--static", "--json", env=machine.env)
    assert (static.returncode, static.stdout) == (0, done.stdout)
    assert not (project / "was-run").exists()


def test_a_broken_manifest_is_a_finding_that_shows_the_line(project: Path) -> None:
    (project / "openenv.yaml").write_text("name: echo\nport: many\n", encoding="utf-8")
    done = openenv("validate", project, "--trust")
    assert done.returncode == 1
    assert "2 | port: many" in done.stdout


def test_a_server_that_does_not_start_ends_it_with_one(project: Path, machine: Machine) -> None:
    (project / "server" / "app.py").write_text("raise RuntimeError('not today')\n", encoding="utf-8")
    done = openenv("validate", project, "--trust", env=machine.env)
    assert done.returncode == 1
    assert "not today" in done.stderr
    assert "openenv_gym_cli" not in done.stderr  # no traceback of ours


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("{empty}",), "openenv init NAME"),
        (("{empty}/none",), "There is no folder"),
        (("--url", "http://127.0.0.1:9"), "no server listens there"),
        (("--url", "ftp://example"), "scheme"),
        ((".", "--url", "http://127.0.0.1:9"), "give one of them"),
        (("--url", "http://127.0.0.1:9", "--trust"), "give PATH"),
        ((".", "--check", "wier"), "Did you mean 'wire'?"),
        ((".", "--actions", "{empty}/none.json"), "cannot be read"),
        (("{project}", "--static", "--check", "seeds"), "None of the chosen checks"),
        (("{project}", "--static", "--junit", "{empty}/none/report.xml"), "cannot be written"),
    ],
)
def test_wrong_input_is_a_sentence_and_ends_it_with_two(
    arguments: tuple[str, ...], told: str, tmp_path: Path, project: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = invoked("validate", *(each.format(empty=empty, project=project) for each in arguments))
    assert done.returncode == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
