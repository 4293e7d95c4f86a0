from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.config import (
    DEFAULT_SESSIONS,
    ConcurrencyConfig,
    ServerConfig,
    ServerMode,
    session_limit,
)


def limit(
    config: ServerConfig | None = None,
    argument: int | None = None,
    concurrency: ConcurrencyConfig | None = None,
    concurrent: bool = True,
) -> int:
    return session_limit(
        config or ServerConfig(), argument=argument, concurrency=concurrency, concurrent=concurrent, name="Env"
    )


def test_without_variables_every_setting_has_its_default() -> None:
    assert ServerConfig.from_environ({}) == ServerConfig()


def test_every_variable_is_read() -> None:
    config = ServerConfig.from_environ(
        {
            "OPENENV_MODE": "PRODUCTION",
            "MAX_CONCURRENT_ENVS": "7",
            "OPENENV_GYM_TOKEN": "secret",
            "OPENENV_GYM_CAPACITY_WAIT": "0",
            "OPENENV_GYM_RESET_TIMEOUT": "1.5",
            "OPENENV_GYM_STEP_TIMEOUT": "2",
            "OPENENV_GYM_CLOSE_TIMEOUT": "3",
            "OPENENV_GYM_DISCONNECT_GRACE": "4",
            "OPENENV_GYM_SESSION_IDLE_TTL": "5",
            "OPENENV_GYM_MCP_IDLE_TTL": "4.5",
            "OPENENV_GYM_SESSION_TTL": "6",
            "OPENENV_GYM_MAX_FRAME_BYTES": "1000",
            "OPENENV_GYM_MAX_LANES": "7",
            "OPENENV_GYM_DEBUG": "1",
            "OPENENV_GYM_LOG_FORMAT": "json",
            "OPENENV_GYM_ALLOWED_HOSTS": "env.example.org, *.lab.example.org,",
            "OPENENV_GYM_ALLOWED_ORIGINS": "https://app.example.org",
            "OPENENV_GYM_MAX_SESSIONS_PER_PEER": "8",
            "OPENENV_GYM_REQUEST_TIMEOUT": "9",
            "SPACE_ID": "owner/name",
        }
    )
    assert config == ServerConfig(
        mode=ServerMode.PRODUCTION,
        max_sessions=7,
        token="secret",
        capacity_wait=0,
        reset_timeout=1.5,
        step_timeout=2,
        close_timeout=3,
        disconnect_grace=4,
        session_idle_ttl=5,
        mcp_idle_ttl=4.5,
        session_ttl=6,
        max_frame_bytes=1000,
        max_lanes=7,
        debug=True,
        allowed_hosts=("env.example.org", "*.lab.example.org"),
        allowed_origins=("https://app.example.org",),
        is_public=True,
        max_sessions_per_peer=8,
        request_timeout=9,
        log_format="json",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENENV_MODE", "test"),
        ("MAX_CONCURRENT_ENVS", "0"),
        ("MAX_CONCURRENT_ENVS", "many"),
        ("OPENENV_GYM_STEP_TIMEOUT", "-1"),
        ("OPENENV_GYM_STEP_TIMEOUT", "nan"),
        ("OPENENV_GYM_STEP_TIMEOUT", "soon"),
        ("OPENENV_GYM_LOG_FORMAT", "xml"),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=repr(value)):
        ServerConfig.from_environ({name: value})


def test_the_mode_argument_beats_the_variable() -> None:
    assert ServerConfig.from_environ({"OPENENV_MODE": "production"}, mode="simulation").mode is ServerMode.SIMULATION


def test_calls_have_the_limit_of_their_operation() -> None:
    config = ServerConfig(reset_timeout=1, step_timeout=2, close_timeout=3)
    limits = [config.limit(operation) for operation in ("construct", "reset", "step", "state", "close")]
    assert limits == [1, 1, 2, 2, 3]


def test_debug_has_no_deadlines() -> None:
    assert ServerConfig(debug=True).limit("step") is None


def test_a_concurrent_environment_has_many_sessions_and_another_one() -> None:
    assert limit() == DEFAULT_SESSIONS
    assert limit(concurrent=False) == 1


def test_the_variable_beats_the_argument_which_beats_the_default() -> None:
    assert limit(argument=3) == 3
    assert limit(concurrency=ConcurrencyConfig(max_concurrent_envs=4)) == 4
    assert limit(ServerConfig(max_sessions=5), argument=3) == 5


def test_both_forms_of_the_argument_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        limit(argument=3, concurrency=ConcurrencyConfig())


@pytest.mark.parametrize("config", [ServerConfig(), ServerConfig(max_sessions=2)])
def test_several_sessions_need_an_environment_that_allows_them(config: ServerConfig) -> None:
    with pytest.raises(ConfigurationError, match="SUPPORTS_CONCURRENT_SESSIONS"):
        limit(config, argument=2, concurrent=False)


def test_no_session_at_all_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        limit(argument=0)


def test_sessions_of_agents_live_as_long_as_the_shorter_time_to_live() -> None:
    assert ServerConfig(session_idle_ttl=5.0, mcp_idle_ttl=7.0).agent_idle_ttl == 5.0
    assert ServerConfig(session_idle_ttl=7.0, mcp_idle_ttl=5.0).agent_idle_ttl == 5.0
