"""What a project's image is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.docker.tags import image_tag, project_tag
from tests.support.pools import PROJECTS

REFERENCE = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
"""A name and a tag as the OCI distribution specification has them."""


@pytest.mark.parametrize(
    ("name", "version", "tag"),
    [
        ("echo", "0.1.0", "openenv-echo:0.1.0"),
        ("echo", None, "openenv-echo:latest"),
        ("grid_world", "2.0", "openenv-grid_world:2.0"),
        ("My.Game", "1.0rc1", "openenv-my.game:1.0rc1"),
        ("a..b___c-._d--e", "1", "openenv-a-b-c-d--e:1"),
        ("_game_", "1", "openenv-game:1"),
        ("torch", "1.0+cpu", "openenv-torch:1.0-cpu"),
        ("long", "9" * 200, "openenv-long:" + "9" * 128),
        ("odd", ".-", "openenv-odd:latest"),
    ],
)
def test_an_image_is_called_after_its_project_and_version(name: str, version: str | None, tag: str) -> None:
    assert image_tag(name, version) == tag
    assert REFERENCE.fullmatch(tag)


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="__"):
        image_tag("__")


def test_a_folder_is_called_as_its_manifest_says(tmp_path: Path) -> None:
    (tmp_path / "openenv.yaml").write_text("name: My_Game\nversion: 1.5\n", encoding="utf-8")
    assert project_tag(tmp_path) == "openenv-my_game:1.5"
    assert project_tag(PROJECTS / "guess") == "openenv-guess:latest"


def test_a_folder_that_says_no_name_gives_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "walk_env"
    folder.mkdir()
    assert project_tag(folder) == "openenv-walk_env:latest"
