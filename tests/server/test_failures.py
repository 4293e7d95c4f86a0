from __future__ import annotations

import logging
import re

import pytest
from openenv_gym_server.config import ServerConfig, ServerMode
from openenv_gym_server.failures import FailureReporter

from tests.support.log_records import records_of_ours


def told(error: BaseException, config: ServerConfig | None = None) -> str:
    reporter = FailureReporter(config or ServerConfig())
    return reporter.report(error, operation="step", session_id="session-1").message


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_simulation_tells_the_text_and_an_id() -> None:
    assert re.fullmatch(r"boom \[error [0-9a-f]{12}\]", told(RuntimeError("boom")))


def test_production_tells_the_id_only() -> None:
    text = told(RuntimeError("secret=/etc/passwd"), ServerConfig(mode=ServerMode.PRODUCTION))
    assert "secret" not in text
    assert re.search(r"\[error [0-9a-f]{12}\]", text)


def test_a_traceback_travels_in_debug_mode_only() -> None:
    error = raised(RuntimeError("boom"))
    assert "Traceback" in told(error, ServerConfig(debug=True))
    assert "Traceback" not in told(error)


@pytest.mark.parametrize(("error", "name"), [(AssertionError(), "AssertionError"), (SystemExit(3), "SystemExit: 3")])
def test_an_error_that_says_nothing_is_named(error: BaseException, name: str) -> None:
    assert told(error).startswith(name)


def test_the_log_has_the_traceback_the_session_and_the_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        text = told(raised(RuntimeError("boom")))
    error_id = text.split("[error ")[1].rstrip("]")
    assert "Traceback" in caplog.text
    assert error_id in caplog.text
    assert "session-1" in caplog.text
    (record,) = records_of_ours(caplog)
    assert (record.__dict__["session_id"], record.__dict__["error_id"]) == ("session-1", error_id)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise Unspeakable


def test_an_error_whose_text_cannot_be_had_is_reported_all_the_same() -> None:
    assert told(Unspeakable()).startswith("Unspeakable")
    assert "Unspeakable" in told(raised(Unspeakable()), ServerConfig(debug=True))
