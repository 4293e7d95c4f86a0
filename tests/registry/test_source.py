"""Every way of writing where an environment is, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.source import Folder, Image, Space, Url, parse_source, parse_space, space_subdomain

ECHO = Space(id="openenv/echo_env", revision=None, subdomain="openenv-echo-env")
ECHO_AT = Space(id="openenv/echo_env", revision="v1.2", subdomain="openenv-echo-env")


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("openenv/echo_env", ECHO),
        ("  openenv/echo_env\n", ECHO),
        ("space:openenv/echo_env", ECHO),
        ("openenv/echo_env@v1.2", ECHO_AT),
        ("space:openenv/echo_env@v1.2", ECHO_AT),
        ("https://huggingface.co/spaces/openenv/echo_env", ECHO),
        ("https://huggingface.co/spaces/openenv/echo_env/", ECHO),
        ("https://hf.co/spaces/openenv/echo_env", ECHO),
        ("https://huggingface.co/spaces/openenv/echo_env/tree/v1.2", ECHO_AT),
        ("https://huggingface.co/spaces/openenv/echo_env/blob/v1.2/server/app.py", ECHO_AT),
        ("https://huggingface.co/spaces/openenv/echo_env.git", ECHO),
        ("https://huggingface.co/spaces/openenv/echo_env/commit/v1.2", ECHO_AT),
        ("https://huggingface.co/spaces/openenv/echo_env/resolve/v1.2/openenv.yaml", ECHO_AT),
        ("huggingface.co/spaces/openenv/echo_env", ECHO),
        ("hf.co/spaces/openenv/echo_env/tree/v1.2", ECHO_AT),
        ("hf://spaces/openenv/echo_env", ECHO),
        ("hf://spaces/openenv/echo_env@v1.2", ECHO_AT),
        ("openenv-echo-env.hf.space", Space(id=None, revision=None, subdomain="openenv-echo-env")),
        ("https://HuggingFace.co/spaces/openenv/echo_env?tab=readme#top", ECHO),
        ("https://openenv-echo-env.hf.space", Space(id=None, revision=None, subdomain="openenv-echo-env")),
        ("https://openenv-echo-env.hf.space/", Space(id=None, revision=None, subdomain="openenv-echo-env")),
    ],
)
def test_a_space_is_read_in_every_way_it_is_written(text: str, space: Space) -> None:
    assert parse_source(text) == space


def test_a_revision_does_not_change_the_host() -> None:
    assert parse_space("org/name@rev").base_url == "https://org-name.hf.space"


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/huggingface.co/a/b",
        "https://huggingface.co.evil.example/spaces/a/b",
        "https://evil.example/spaces/a/b",
        "https://a-b.hf.space.evil.example",
        "https://evil-hf.space",
        "http://huggingface.co/spaces/a/b",
        "ftp://huggingface.co/spaces/a/b",
        "evil.example/spaces/a/b",
        "huggingface.co.evil.example/spaces/a/b",
        "hf://evil.example/a/b",
        "https://registry.hf.space",
    ],
)
def test_foreign_hosts_are_no_spaces(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_space(text)


def test_a_url_that_looks_like_the_hub_but_is_not_is_a_server_of_somebody() -> None:
    assert parse_source("https://evil.example/spaces/a/b") == Url("https://evil.example/spaces/a/b")


@pytest.mark.parametrize(
    "text",
    [
        "https://user:secret@huggingface.co/spaces/a/b",
        "https://huggingface.co@evil.example/spaces/a/b",
        "http://token@localhost:8000",
    ],
)
def test_a_url_with_credentials_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_source(text)
    assert "secret" not in str(caught.value)
    assert "token=" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "echo",
        "a/b/c",
        "a//b",
        "a/",
        "space:/b",
        "space:../b",
        "a/b@",
        "a/b@../../x",
        "a/b@-x",
        "a/..",
        "http://host/a b",
        "a b/c",
        "a/b\x00",
        "-a/b",
        "a/b-",
        "a--b/c",
        "a/b.git",
        "huggingface.co/openenv/echo_env",
        "openenv-echo-env.hf.space/web",
        "hf://openenv/echo_env",
        "hf://datasets/openenv/echo_env",
        f"a/{'b' * 97}",
        "https://huggingface.co/openenv/echo_env",
        "https://huggingface.co/spaces/openenv",
        "https://huggingface.co/spaces/openenv/echo_env/settings",
        "https://huggingface.co/spaces/openenv/echo_env/tree",
        "https://huggingface.co/spaces/openenv/..%2Fx",
        "https://huggingface.co/datasets/openenv/echo_env",
        "https://openenv-echo-env.hf.space/web",
        "https://openenv-echo-env.hf.space:8000",
        "https://",
        "https://host:port",
        "ssh://host/a",
        "path:",
        "image:",
        "image:UPPER",
        "image:a b",
        "image:--privileged",
    ],
)
def test_what_names_no_environment_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_source(text)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("image:echo-env", "echo-env"),
        ("echo-env:latest", "echo-env:latest"),
        ("localhost:5000/echo:1", "localhost:5000/echo:1"),
        ("ghcr.io/openenv/echo", "ghcr.io/openenv/echo"),
        ("registry.hf.space/openenv-echo-env:latest", "registry.hf.space/openenv-echo-env:latest"),
        (f"echo@sha256:{'a' * 64}", f"echo@sha256:{'a' * 64}"),
    ],
)
def test_an_image_is_known_by_its_tag_digest_or_registry(text: str, reference: str) -> None:
    assert parse_source(text) == Image(reference)


@pytest.mark.parametrize("text", ["./my_env", "../my_env", "/a folder/my env", "~/my_env", "."])
def test_a_folder_is_never_taken_for_a_space(text: str) -> None:
    assert parse_source(text) == Folder(text)
    assert parse_source(f"path:{text}") == Folder(text)


@pytest.mark.parametrize(
    ("text", "base_url"),
    [
        ("http://localhost:8000", "http://localhost:8000"),
        ("https://example.org/envs/echo/", "https://example.org/envs/echo"),
        ("ws://127.0.0.1:1", "ws://127.0.0.1:1"),
    ],
)
def test_any_other_url_is_a_server(text: str, base_url: str) -> None:
    assert parse_source(text) == Url(base_url)


def test_the_subdomain_follows_the_hubs_rule() -> None:
    assert space_subdomain("Open.Env/Echo_Env") == "open-env-echo-env"


@given(st.text())
def test_any_text_is_a_source_or_a_configuration_error(text: str) -> None:
    try:
        source = parse_source(text)
    except ConfigurationError:
        return
    assert isinstance(source, Url | Image | Space | Folder)
