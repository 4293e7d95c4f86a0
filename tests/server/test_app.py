from __future__ import annotations

import inspect
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server import ConcurrencyConfig, create_app, create_fastapi_app
from openenv_gym_server.service import Service

from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation, CountState
from tests.support.apps.exclusive import Board, ExclusiveEnvironment, Move
from tests.support.apps.lanes import Command
from tests.support.apps.pushes import Place, Push, Pushes, SeededPushes
from tests.support.log_records import records_of_ours

assert Pushes.spaces is not None
PUSHES = Pushes.spaces


def test_the_arguments_are_openenvs_in_openenvs_order() -> None:
    assert list(inspect.signature(create_app).parameters) == [
        "env",
        "action_cls",
        "observation_cls",
        "env_name",
        "max_concurrent_envs",
        "concurrency_config",
        "gradio_builder",
        "custom_tab_name",
        "custom_tab_primary",
        "show_default_tab",
        "title_override",
        "state_cls",
        "mode",
        "reset_observation_cls",
        "allowed_hosts",
        "allowed_origins",
    ]
    assert list(inspect.signature(create_fastapi_app).parameters) == [
        "env",
        "action_cls",
        "observation_cls",
        "max_concurrent_envs",
        "concurrency_config",
        "env_name",
        "state_cls",
        "mode",
        "reset_observation_cls",
        "allowed_hosts",
        "allowed_origins",
    ]


def test_an_app_knows_its_parts() -> None:
    service: Service = create_app(CountingEnvironment, CountAction, CountObservation, "name", 3).state.openenv_gym
    assert (service.definition.name, service.max_sessions) == ("name", 3)
    assert service.definition.state_class is CountState


def test_a_session_timeout_is_the_idle_time_to_live() -> None:
    concurrency = ConcurrencyConfig(max_concurrent_envs=2, session_timeout=9.0)
    app = create_app(CountingEnvironment, CountAction, CountObservation, concurrency_config=concurrency)
    assert app.state.openenv_gym.config.session_idle_ttl == 9.0


def test_the_variables_are_read_when_the_app_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_CONCURRENT_ENVS", "5")
    app = create_app(CountingEnvironment, CountAction, CountObservation, max_concurrent_envs=3)
    assert app.state.openenv_gym.max_sessions == 5


def test_what_cannot_be_is_refused_when_the_app_is_made() -> None:
    with pytest.raises(ConfigurationError):
        create_app(ExclusiveEnvironment, Move, Board, max_concurrent_envs=2)
    with pytest.raises(ConfigurationError):
        create_app(CountingEnvironment, CountAction, CountObservation, mode="test")
    with pytest.raises(TypeError):
        create_app(CountingEnvironment(), CountAction, CountObservation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"spaces": None}, "declares no spaces of fixed shape"),
        ({"spaces": {**PUSHES, "action": {"type": "Text", "max_length": 3}}}, "declares no spaces of fixed shape"),
        ({"autoreset_modes": ("nextstep",)}, "nextstep"),
        ({"autoreset_modes": ()}, "autoreset_modes"),
    ],
)
def test_many_lanes_that_cannot_be_served_are_refused_when_the_app_is_made(
    declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        create_app(type("Wrong", (Pushes,), declared), Push, Place)


def test_many_lanes_whose_model_has_no_place_for_their_space_are_refused_when_the_app_is_made() -> None:
    with pytest.raises(ConfigurationError, match="action space that Pushes declares"):
        create_app(Pushes, Command, Place)


def test_the_log_tells_of_autoresets_that_depend_on_no_seed(caplog: pytest.LogCaptureFixture) -> None:
    create_app(SeededPushes, Push, Place)
    assert not records_of_ours(caplog)
    create_app(Pushes, Push, Place)
    assert "next_seeds" in caplog.text


def test_hosts_and_origins_are_arguments_that_the_variables_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_ALLOWED_ORIGINS", "https://told.example.org")
    app = create_app(
        CountingEnvironment,
        CountAction,
        CountObservation,
        allowed_hosts=["env.example.org"],
        allowed_origins=["https://app.example.org"],
    )
    config = app.state.openenv_gym.config
    assert config.allowed_hosts == ("env.example.org",)
    assert config.allowed_origins == ("https://told.example.org",)
