from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.client import GenericEnvClient
from openenv_gym.client.settings import Mode, merge_timeouts
from openenv_gym.transports.timeouts import Timeouts


def test_openenvs_two_time_outs_set_the_phases() -> None:
    assert merge_timeouts(None, 1.0, 2.0) == Timeouts(connect=1, reset=2, step=2, state=2)
    assert merge_timeouts({"step": 3}, None, None) == Timeouts(step=3)


@pytest.mark.parametrize(
    "arguments",
    [
        {"timeouts": {"step": 1}, "message_timeout_s": 2},
        {"message_timeout_s": 0},
        {"connect_timeout_s": -1},
        {"max_message_size_mb": 0},
        {"websocket_ping_interval_s": 0},
        {"websocket_ping_timeout_s": -1},
        {"mode": "training"},
        {"token": "a\nb"},
        {"base_url": ""},
        {"base_url": "ftp://host"},
    ],
)
def test_an_argument_that_cannot_be_is_refused_when_the_client_is_made(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        GenericEnvClient(**{"base_url": "http://localhost", **arguments})


def test_an_unknown_phase_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="'reset'"):
        GenericEnvClient("http://localhost", timeouts={"rest": 1})


def test_the_mode_is_the_arguments_then_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENENV_CLIENT_MODE", raising=False)
    assert Mode.of(None) is Mode.SIMULATION
    monkeypatch.setenv("OPENENV_CLIENT_MODE", "Production")
    assert Mode.of(None) is Mode.PRODUCTION
    assert Mode.of("simulation") is Mode.SIMULATION


def test_openenvs_arguments_are_taken_by_its_names_and_in_its_order() -> None:
    client = GenericEnvClient(
        "http://localhost:8000/", 1.0, 2.0, 3.0, None, None, mode="simulation", headers={"X-A": "b"}
    )
    assert client.base_url == "http://localhost:8000"
