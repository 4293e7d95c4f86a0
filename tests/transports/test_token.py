from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.transports.token import resolve_token


def test_a_token_is_itself() -> None:
    assert resolve_token("secret") == "secret"
    assert resolve_token(None) is None


def test_a_token_may_name_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    assert resolve_token("env:MY_TOKEN") == "secret"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="MY_TOKEN"):
        resolve_token("env:MY_TOKEN")


@pytest.mark.parametrize("token", ["", "a\nb", "a ", "ü"])
def test_what_no_header_may_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_token(token)
    assert repr(token) not in str(caught.value)
