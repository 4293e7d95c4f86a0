"""Where a Space is, from its name alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.space_address import address_of, hub_token

from openenv_gym.providers.base import space_address


@pytest.fixture(autouse=True)
def _nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_a_name_is_the_hubs_and_its_host_is_below_hf_space() -> None:
    found = address_of("Owner/My_env.x@v1")
    assert (found.name, found.id, found.revision) == ("Owner/My_env.x", "Owner/My_env.x", "v1")
    assert (found.base_url, found.host_suffix) == ("https://owner-my-env-x.hf.space", ".hf.space")
    assert (found.hub_url, found.page_url) == ("https://huggingface.co", "https://huggingface.co/spaces/Owner/My_env.x")


def test_of_a_host_alone_no_id_is_told() -> None:
    found = address_of("https://owner-name.hf.space")
    assert (found.name, found.id, found.base_url) == ("owner-name.hf.space", None, "https://owner-name.hf.space")


def test_another_hub_says_itself_where_its_spaces_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/")
    found = address_of("owner/name")
    assert (found.hub_url, found.page_url, found.host_suffix) == (
        "https://hub.example",
        "https://hub.example/spaces/owner/name",
        "",
    )


def test_the_token_is_the_variables_or_the_one_of_the_log_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert hub_token() is None
    (tmp_path / "token").write_text("hf_loggedIn\n")
    assert hub_token() == "hf_loggedIn"
    monkeypatch.setenv("HF_TOKEN", "hf_variable")
    assert address_of("a/b").hub_token() == "hf_variable"
    assert "hf_variable" not in repr(address_of("a/b"))


def test_the_front_door_has_told_the_providers_how_names_are_read() -> None:
    assert space_address("a/b").id == "a/b"
    with pytest.raises(ConfigurationError):
        space_address("https://evil.example/a/b")


def test_reading_a_name_loads_neither_the_hub_nor_a_client_of_http() -> None:
    code = (
        "import openenv_gym, sys; openenv_gym.register_space('a/b')\n"
        "print({'huggingface_hub', 'httpx', 'yaml'} & sys.modules.keys())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "set()"
