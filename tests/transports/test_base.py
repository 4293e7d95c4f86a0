from __future__ import annotations

from openenv_gym.transports.base import ConnectionOptions


def test_a_token_is_a_bearers_unless_the_headers_have_an_authorization() -> None:
    assert ConnectionOptions(token="t").request_headers() == {"Authorization": "Bearer t"}
    taken = ConnectionOptions(token="t", headers={"AUTHORIZATION": "Bearer hub"}).request_headers()
    assert taken == {"AUTHORIZATION": "Bearer hub", "X-OpenEnv-Token": "t"}
    assert ConnectionOptions(headers={"X-A": "b"}).request_headers() == {"X-A": "b"}


def test_the_token_is_not_shown() -> None:
    assert "secret" not in repr(ConnectionOptions(token="secret"))
    assert "secret" not in repr(ConnectionOptions(headers={"Authorization": "Bearer secret"}))
