"""What people write becomes a request; who runs it follows from what it is, unless they say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.requests import server_request

NOTHING: dict[str, Any] = {"path": None, "image": None, "provider": None, "settings": None}


@pytest.mark.parametrize(
    ("keywords", "provider"),
    [
        ({"path": "folder"}, "process"),
        ({"image": "table:1"}, "docker"),
        ({"image": "table:1", "path": "folder"}, "docker"),
        ({"image": "table:1", "provider": {"memory": "1g"}}, "docker"),
        ({"path": "folder", "provider": "docker"}, "docker"),
        ({"path": "folder", "provider": {"name": "docker"}}, "docker"),
    ],
)
def test_who_runs_it_follows_from_what_it_is(keywords: dict[str, Any], provider: str) -> None:
    assert server_request(**{**NOTHING, **keywords}).provider == provider


def test_all_that_was_written_is_in_the_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"name": "docker", "memory": "1g"}
    request = server_request(path="folder", image="table:1", provider=options, settings={"LEVEL": "3"})
    assert request.path == str(tmp_path / "folder"), "the same from wherever it is started"
    assert request.image == "table:1"
    assert request.options == (("memory", "1g"),)
    assert request.settings == (("LEVEL", "3"),)
    assert options == {"name": "docker", "memory": "1g"}, "the caller's own is left alone"


@pytest.mark.parametrize(
    "keywords",
    [
        {"path": "folder", "image": "table:1", "provider": "process"},
        {"path": "folder", "provider": {"name": 3}},
        {"path": "folder", "settings": {"LEVEL": 3}},
        {"path": "folder", "settings": {3: "LEVEL"}},
        {"path": "folder", "settings": {"": "3"}},
        {"path": "folder", "settings": {"LEVEL=1": "3"}},
        {"path": "folder", "settings": {"LEVEL\0": "3"}},
        {"path": "folder", "settings": {"LEVEL": "3\0"}},
        {"path": "folder", "settings": {"OPENENV_GYM_TOKEN": "a\nb"}},
        {"path": "folder", "settings": {"OPENENV_GYM_TOKEN": "caf\xe9"}},
    ],
)
def test_what_cannot_be_is_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        server_request(**{**NOTHING, **keywords})


@pytest.mark.parametrize(
    "settings",
    [{"HF_TOKEN": "secret\0"}, {"HF_TOKEN=secret": ""}, {"HF_TOKEN": ["secret"]}, {"OPENENV_GYM_TOKEN": "secret\n"}],
)
def test_the_error_of_a_setting_tells_its_name_and_never_its_value(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"\w_TOKEN") as caught:
        server_request(**{**NOTHING, "path": "folder", "settings": settings})
    assert "secret" not in caught.value.message
