"""The kit: an honest server passes; a server with one fault fails the one check that is about it."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError, ConnectError, Unauthorized

from openenv_gym.testing.conformance import CHECKS, Declaration, Report, Status, validate_server
from tests.support.servers import killed, running_server

APP = "tests.support.apps.faulty:app"

FAULTS = {
    "nan_reward": "rewards-finite",
    "nan_on_the_wire": "rewards-finite",
    "huge_reward": "rewards-in-range",
    "seed_ignored": "same-seed-same-trajectory",
    "shared_state": "sessions-independent",
    "undeclared_field": "observation-schema",
    "wrong_state": "state-schema",
    "other_code": "unknown-type",
    "one_session": "second-session-or-refusal",
}
"""Each fault of ``tests.support.apps.faulty``, and the check that finds it."""


def names(report: Report, status: Status) -> list[str]:
    return [finding.check for finding in report.findings if finding.status is status]


def test_an_honest_server_passes_every_check() -> None:
    with running_server(APP, env={"TEST_FAULT": ""}) as server:
        report = validate_server(server.base_url, declared=Declaration(reward_range=(0, 1)))
    assert report.failed == ()
    assert report.is_ok
    assert [finding.check for finding in report.findings] == [each.name for each in CHECKS if not each.is_static]
    assert names(report, Status.SKIPPED) == ["declared-spaces", "tools-list", "declared-tools", "tools-described"]
    assert report.figures.keys() == {"step_p50_ms", "step_p95_ms", "reset_p50_ms", "reset_p95_ms"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_check_that_is_about_it_and_no_other(fault: str) -> None:
    env = {"TEST_FAULT": fault, "OPENENV_GYM_CAPACITY_WAIT": "0.05"}
    with running_server(APP, env=env) as server:
        report = validate_server(server.base_url, declared=Declaration(reward_range=(0, 1)))
    assert {finding.check: finding.message for finding in report.failed}.keys() == {FAULTS[fault]}
    assert report.failed[0].message


def test_a_server_that_hangs_is_not_waited_for_in_every_check() -> None:
    with running_server(APP, env={"TEST_FAULT": "hanging_step"}) as server, killed(server):
        report = validate_server(server.base_url, timeout=4.0)
    assert [finding.check for finding in report.failed] == [
        "step-frame",
        "client",
        "observation-schema",
        "samples-accepted",
    ]
    assert "stopped answering" in report.findings[-1].message


def test_advice_is_a_failure_where_strictness_is_asked_for() -> None:
    with running_server(APP, env={"TEST_FAULT": "failing_step"}) as server:
        lenient = validate_server(server.base_url, checks=["style"])
        strict = validate_server(server.base_url, checks=["style"], strict=True)
    assert (lenient.is_ok, names(lenient, Status.ADVICE)) == (True, ["steps-succeed"])
    assert [finding.check for finding in strict.failed] == ["steps-succeed"]


def test_security_is_advice_and_a_token_answers_it() -> None:
    with running_server(APP, env={"TEST_FAULT": ""}) as server:
        open_to_all = validate_server(server.base_url, checks=["security"])
    with running_server(APP, env={"TEST_FAULT": "", "OPENENV_GYM_TOKEN": "secret"}) as server:
        guarded = validate_server(server.base_url, token="secret", checks=["security"])
        with pytest.raises(Unauthorized):
            validate_server(server.base_url)
    assert "token-asked-for" in names(open_to_all, Status.ADVICE)
    assert names(guarded, Status.PASSED) == ["token-asked-for", "foreign-origin-refused", "foreign-host-refused"]


def test_what_is_declared_of_spaces_and_tools_is_compared() -> None:
    spaces = {"action": {"type": "Discrete", "n": 5, "start": 0}, "observation": {"type": "Discrete", "n": 100}}
    with running_server(APP, env={"TEST_FAULT": ""}) as server:
        report = validate_server(server.base_url, declared=Declaration(spaces=spaces), checks=["declared-spaces"])
    assert [finding.check for finding in report.failed] == ["declared-spaces"]
    with running_server("server.app:app", cwd="envs/echo") as server:
        report = validate_server(
            server.base_url, declared=Declaration(tools=("echo_message", "shout")), checks=["declared-tools"]
        )
    assert "echo_with_length" in report.failed[0].message
    assert "shout" in report.failed[0].message


def test_given_actions_are_stepped_with() -> None:
    with running_server(APP, env={"TEST_FAULT": ""}) as server:
        report = validate_server(server.base_url, actions=[{"by": 7}], checks=["samples-accepted"])
    assert "{'by': 7}" in report.failed[0].message


def test_an_unknown_check_and_a_server_that_is_not_there_are_errors() -> None:
    with pytest.raises(ConfigurationError, match=r"'seed'.*Did you mean 'seeds'"):
        validate_server("http://127.0.0.1:9", checks=["seed"])
    with pytest.raises(ConnectError):
        validate_server("http://127.0.0.1:9")
