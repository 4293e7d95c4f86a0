"""Every way in which the Hub refuses or cannot be reached, as an error of ours that says what to do."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from openenv_gym_protocol.errors import (
    ConfigurationError,
    ConnectError,
    ConnectTimeout,
    OpenEnvGymError,
    ProtocolFailure,
    RateLimited,
    SpaceNotFound,
    Unauthorized,
)
from openenv_gym_registry.hub import session as sessions
from openenv_gym_registry.hub.failures import retry_after
from openenv_gym_registry.hub.session import HubSession

from tests.support.hub.routes import refusal
from tests.support.hub.state import DROPPED, OTHER_TOKEN, OWNER_TOKEN, Answer, HubState

SPACE = "/api/spaces/openenv/echo_env"


def failure(path: str = SPACE, token: str | None = None) -> OpenEnvGymError:
    with pytest.raises(OpenEnvGymError) as caught:
        HubSession(token).get(path, what="openenv/echo_env")
    assert token is None or token not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (refusal(404, "Repository not found", "RepoNotFound"), SpaceNotFound, "hf auth login"),
        (refusal(401, "Invalid username or password.", "RepoNotFound"), SpaceNotFound, "HF_TOKEN"),
        (refusal(404, "Invalid rev id", "RevisionNotFound"), ConfigurationError, "revision"),
        (refusal(403, "restricted", "GatedRepo"), Unauthorized, "ask for access"),
        (refusal(403, "Access to this resource is disabled."), SpaceNotFound, "disabled"),
        (refusal(403, "You need the right to write"), Unauthorized, "You need the right to write"),
        (refusal(401, "Invalid credentials in Authorization header"), Unauthorized, "settings/tokens"),
        (refusal(500, "Internal error"), ConnectError, "HTTP 500"),
        (DROPPED, ConnectError, "network"),
        (Answer(302, b"", {"Location": "https://evil.example/x"}), ProtocolFailure, "evil.example"),
    ],
)
def test_a_refusal_says_what_to_do(hub: HubState, answer: Answer, error: type[Exception], said: str) -> None:
    hub.add("openenv/echo_env")
    hub.fail(SPACE, answer)
    found = failure()
    assert type(found) is error
    assert said in found.message
    assert "openenv/echo_env" in found.message


def test_a_wrong_token_is_refused_even_for_what_is_public(hub: HubState) -> None:
    hub.add("openenv/echo_env")
    assert type(failure(token="hf_wrong")) is Unauthorized


def test_what_is_private_is_there_for_its_owner_alone(hub: HubState) -> None:
    hub.add("openenv/echo_env", private=True)
    assert type(failure()) is SpaceNotFound
    assert type(failure(token=OTHER_TOKEN)) is SpaceNotFound
    assert HubSession(OWNER_TOKEN).get(SPACE, what="it").body


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "17"}, 17),
        ({"ratelimit": '"api";r=0;t=42'}, 42),
        ({}, None),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_a_hub_that_was_asked_too_often_says_for_how_long(
    hub: HubState, headers: dict[str, str], seconds: float | None
) -> None:
    hub.fail(SPACE, Answer(429, {"error": "Too many requests"}, headers))
    found = failure()
    assert isinstance(found, RateLimited)
    assert found.retry_after == seconds
    assert f"{seconds:g} s" in found.message if seconds else "a few minutes" in found.message


def test_a_date_to_come_back_is_counted_in_seconds() -> None:
    told = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)}
    seconds = retry_after(told)
    assert seconds is not None
    assert 500 < seconds <= 600


def test_no_network_is_told_without_trying_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        found = failure()
    assert type(found) is ConnectError
    assert "network" in found.message


def test_a_hub_that_does_not_answer_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ASK_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert type(failure()) is ConnectTimeout


def test_offline_mode_of_the_library_is_told(hub: HubState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in failure().message


def test_a_redirect_on_the_hub_itself_is_followed_and_an_endless_one_is_not(hub: HubState) -> None:
    hub.add("openenv/echo_env")
    hub.fail("/moved", Answer(307, b"", {"Location": SPACE}))
    assert HubSession().get("/moved", what="it").body
    hub.fail("/moved", Answer(307, b"", {"Location": "/moved"}), times=9)
    assert type(failure("/moved")) is ProtocolFailure


def test_an_answer_without_end_is_not_read_to_it(hub: HubState) -> None:
    hub.fail(SPACE, Answer(200, b"x" * 1000))
    with pytest.raises(ProtocolFailure, match="more than 999 bytes"):
        HubSession().get(SPACE, what="it", max_bytes=999)


def test_an_etag_saves_the_answer(hub: HubState) -> None:
    hub.add("openenv/echo_env")
    first = HubSession().get(SPACE, what="it")
    again = HubSession().get(SPACE, what="it", etag=first.etag)
    assert first.body
    assert (again.body, again.etag) == (None, first.etag)


@pytest.mark.parametrize("told", ["\u00b2", "soon", "-1", "Fri, 31 Dec 9999 23:59:59 -2359"])
def test_a_wait_that_is_none_is_not_told(told: str) -> None:
    assert retry_after({"Retry-After": told}) is None
