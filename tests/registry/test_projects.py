"""Where the bundled projects are found."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry import projects


def test_in_a_checkout_the_projects_are_in_envs() -> None:
    root = projects.projects_root()
    assert root.name == "envs"
    assert (projects.bundled_project("blackjack") / "openenv.yaml").is_file()


def test_a_project_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'nothing'"):
        projects.bundled_project("nothing")
