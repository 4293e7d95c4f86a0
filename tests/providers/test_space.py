"""The space provider against a Hub and a front that behave as Hugging Face's do."""

from __future__ import annotations

import itertools
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import (
    ConfigurationError,
    ConnectError,
    ProtocolFailure,
    ProviderError,
    ServerStartError,
    SpaceNotFound,
    Unauthorized,
    UnknownOption,
)

from openenv_gym.providers import pool
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.space import RunningSpace, SpaceProvider
from openenv_gym.providers.watchdog_client import WatchdogClient
from openenv_gym.testing.provider_contract import ProviderContract
from tests.support.hub.space_front import space_front
from tests.support.hub.spaces import hub_for, served_space
from tests.support.hub.state import OTHER_TOKEN, OWNER_TOKEN, Answer, HubState
from tests.support.servers import RunningServer, running_server


@pytest.fixture(scope="module")
def backend() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubState]:
    with hub_for(monkeypatch, tmp_path) as running:
        yield running


def request_of(space: str, **options: Any) -> ServerRequest:
    return ServerRequest(provider="space", options=(("space", space), *options.items()))


def started(space: str, *, within: float = 20.0, **options: Any) -> RunningSpace:
    return SpaceProvider().start(request_of(space, **options), Deadline(within))


def authorizations(heads: list[str]) -> set[str]:
    lines = [line for head in heads for line in head.splitlines()]
    return {line.partition(":")[2].strip() for line in lines if line.lower().startswith("authorization:")}


class TestSpaceProvider(ProviderContract):
    @pytest.fixture(autouse=True)
    def _spaces(self, hub: HubState, backend: RunningServer) -> Iterator[None]:
        failed = hub.add("openenv/dying")
        failed.runtime |= {"stage": "RUNTIME_ERROR", "errorMessage": "Exit code: 3. Reason: last words"}
        with (
            served_space(hub, "openenv/plain", backend.base_url, ["page"], asleep=True),
            served_space(hub, "openenv/never", backend.base_url, itertools.repeat("page"), asleep=True),
        ):
            yield

    def provider(self) -> SpaceProvider:
        return SpaceProvider()

    def request(self) -> ServerRequest:
        return request_of("openenv/plain")

    def request_that_dies(self) -> ServerRequest:
        return request_of("openenv/dying")

    def request_that_never_answers(self) -> ServerRequest:
        return request_of("openenv/never")


def test_a_sleeping_space_is_woken_past_pages_and_broken_connections(
    hub: HubState, backend: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openenv_gym")
    with served_space(hub, "openenv/echo", backend.base_url, ["page", "drop", "loading", "cut"], asleep=True) as front:
        space = started("openenv/echo")
        assert space.base_url == front.url
    assert "it sleeps and is being woken (SLEEPING)" in caplog.text
    assert "its application starts (APP_STARTING)" in caplog.text
    assert space.logs(1).endswith(f"{hub.url}/spaces/openenv/echo?logs=container")


@pytest.mark.parametrize("stage", ["BUILD_ERROR", "RUNTIME_ERROR", "CONFIG_ERROR", "PAUSED", "STOPPED", "NO_APP_FILE"])
def test_a_space_that_no_waiting_helps_is_an_error_with_the_page_of_its_log(hub: HubState, stage: str) -> None:
    hub.add("openenv/echo").runtime["stage"] = stage
    with pytest.raises(ServerStartError, match=stage) as caught:
        started("openenv/echo")
    log = "build" if stage == "BUILD_ERROR" else "container"
    assert f"{hub.url}/spaces/openenv/echo?logs={log}" in caught.value.message


def test_a_space_that_fails_while_it_wakes_is_noticed(hub: HubState, backend: RunningServer) -> None:
    with served_space(hub, "openenv/echo", backend.base_url, itertools.repeat("page"), asleep=True) as front:
        front.on_request = lambda: hub.repos["openenv/echo"].runtime.update(stage="BUILD_ERROR")
        with pytest.raises(ServerStartError, match="BUILD_ERROR"):
            started("openenv/echo", within=60)


def test_a_private_space_gets_the_hubs_token_and_its_environment_its_own(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    monkeypatch.setenv("ENV_TOKEN", "of-the-environment")
    with served_space(hub, "openenv/secret", backend.base_url, private=True) as front:
        space = started("openenv/secret", token="env:ENV_TOKEN")
        assert authorizations(front.heads) == {f"Bearer {OWNER_TOKEN}"}
    assert space.headers == {"Authorization": f"Bearer {OWNER_TOKEN}"}
    assert space.token == "of-the-environment"
    assert OWNER_TOKEN not in repr(space)
    assert "of-the-environment" not in repr(space)


def test_another_token_of_the_hub_is_named_by_its_variable(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OTHER_TOKEN)
    monkeypatch.setenv("WORK_TOKEN", OWNER_TOKEN)
    with served_space(hub, "openenv/secret", backend.base_url, private=True):
        assert started("openenv/secret", hub_token="env:WORK_TOKEN").headers
        with pytest.raises(SpaceNotFound):
            started("openenv/secret")


def test_a_public_space_is_never_shown_the_hubs_token(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    with served_space(hub, "openenv/echo", backend.base_url, ["page"]) as front:
        assert started("openenv/echo").headers == {}
        assert authorizations(front.heads) == set()
    assert all(asked.token is None for asked in hub.asked)


def test_a_public_space_that_the_hub_hid_for_a_moment_is_not_shown_the_token_either(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    with served_space(hub, "openenv/echo", backend.base_url) as front:
        hub.fail("/api/spaces/openenv/echo", Answer(401))
        assert started("openenv/echo").headers == {}
        assert authorizations(front.heads) == set()


def test_a_host_that_is_no_spaces_is_never_asked(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    # As if it were Hugging Face's own: then hosts have to be below hf.space.
    monkeypatch.setattr("openenv_gym_registry.space_address.HUB_URL", hub.url)
    with served_space(hub, "openenv/secret", backend.base_url, private=True) as front:
        with pytest.raises(ProtocolFailure, match="no address of a Space"):
            started("openenv/secret")
        assert front.heads == []


@pytest.mark.parametrize(
    "host",
    [
        "https://[",
        "https://x.hf.space:99999",
        "https://user:word@x.hf.space",
        "http://x.hf.space",
        "https://evil.example/x.hf.space",
        "https://evil.example\\.hf.space",
        "https://x.hf.space.evil.example",
    ],
)
def test_a_host_that_only_looks_like_a_spaces_is_none(
    hub: HubState, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("openenv_gym_registry.space_address.HUB_URL", hub.url)
    hub.add("openenv/secret").host = host
    with pytest.raises(ProtocolFailure, match="no address of a Space"):
        started("openenv/secret")


def test_a_redirect_is_not_followed(hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    with (
        space_front(backend.base_url) as elsewhere,
        served_space(hub, "openenv/secret", backend.base_url, [f"redirect {elsewhere.url}/health"], private=True),
    ):
        started("openenv/secret")
        assert elsewhere.heads == []


def test_a_space_that_nobody_may_see_is_told_with_what_to_do(hub: HubState, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("openenv/secret", private=True)
    for name in ("openenv/secret", "openenv/none"):
        with pytest.raises(SpaceNotFound, match="HF_TOKEN"):
            started(name)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(Unauthorized, match="settings/tokens") as caught:
        started("openenv/secret")
    assert "hf_wrong" not in caught.value.message


def test_the_revision_that_runs_is_compared(hub: HubState, backend: RunningServer) -> None:
    with served_space(hub, "openenv/echo", backend.base_url):
        repo = hub.repos["openenv/echo"]
        first = repo.head.sha
        assert started("openenv/echo", revision=first).base_url
        assert started("openenv/echo@main").base_url
        repo.commit({"README.md": "newer"})
        with pytest.raises(ProviderError, match=first):
            started("openenv/echo", revision="main")
        with pytest.raises(ConfigurationError, match="no revision 'v9'"):
            started("openenv/echo@v9")


def test_a_space_without_an_environment_is_told_at_once(hub: HubState) -> None:
    with (
        running_server("tests.support.apps.nothing:app") as other,
        served_space(hub, "someone/app", other.base_url),
        pytest.raises(ProviderError, match="no OpenEnv environment"),
    ):
        started("someone/app", within=60)


def test_a_hub_that_is_out_of_order_keeps_nobody_from_a_space_that_runs(
    hub: HubState, backend: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openenv_gym_registry.source.Space.base_url", backend.base_url)
    for answer in (Answer(503), Answer(429), Answer(0), Answer(200, b"<html>")):
        hub.fail("/api/spaces/openenv/echo", answer)
        assert started("openenv/echo").base_url == backend.base_url


def test_a_machine_without_a_network_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openenv_gym_registry.source.Space.base_url", "http://no-such-host.invalid")
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and listens not
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        with pytest.raises(ConnectError, match="network"):
            started("openenv/echo", within=60)


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        (ServerRequest(provider="space"), ConfigurationError, "owner/name"),
        (request_of("echo"), ConfigurationError, "owner/name"),
        (request_of("https://evil.example/spaces/a/b"), ConfigurationError, "not Hugging Face"),
        (request_of("a/b", revision="../x"), ConfigurationError, "revision"),
        (request_of("a/b@main", revision="other"), ConfigurationError, "two revisions"),
        (request_of("https://a-b.hf.space", revision="main"), ConfigurationError, "owner/name"),
        (request_of("a/b", token="hf_literal"), ConfigurationError, "env:NAME"),
        (request_of("a/b", hub_token="env:NO_SUCH_VARIABLE"), ConfigurationError, "NO_SUCH_VARIABLE"),
        (request_of("a/b", start_timeout=0), ConfigurationError, "start_timeout"),
        (request_of("a/b", spaec=1), UnknownOption, "'space'"),
        (ServerRequest(provider="space", image="x", options=(("space", "a/b"),)), ConfigurationError, "image="),
        (
            ServerRequest(provider="space", options=(("space", "a/b"),), settings=(("A", "b"),)),
            ConfigurationError,
            "settings",
        ),
    ],
)
def test_what_cannot_be_right_is_refused_before_anybody_is_asked(
    request_: ServerRequest, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        SpaceProvider().check(request_)
    assert "hf_literal" not in str(caught.value)


def test_a_lease_of_a_space_starts_no_watchdog_and_ends_nothing(hub: HubState, backend: RunningServer) -> None:
    with served_space(hub, "openenv/echo", backend.base_url) as front:
        lease = pool.lease(request_of("openenv/echo"))
        assert (lease.is_held, lease.base_url, dict(lease.headers)) == (True, front.url, {})
        lease.release()
        assert (lease.is_held, WatchdogClient.connect_to_running(pool_location())) == (False, None)
        assert started("openenv/echo").base_url == front.url
