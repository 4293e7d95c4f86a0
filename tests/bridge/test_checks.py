"""A keyword of a wrong type is named, and so is what it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.checks import check_count, check_reset_options, check_types


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("base_url", 8000, "http://"),
        ("base_url", ["http://one:1", 8000], "http://"),
        ("base_url", b"http://one:1", "http://"),
        ("path", 3, "folder"),
        ("image", ["a"], "image"),
        ("provider", 3, "dict"),
        ("token", 3, "env:NAME"),
        ("timeouts", 5, "step"),
        ("settings", ["A=b"], "dict"),
        ("reset_options", "target", "dict"),
        ("render_mode", True, "render mode"),
    ],
)
def test_a_wrong_type_names_the_keyword_and_what_it_should_be(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{name}= must be .*{expected}"):
        check_types({name: value})


def test_right_types_and_none_and_other_names_pass() -> None:
    check_types(
        {"base_url": ("http://one:1",), "path": Path(), "provider": {"name": "process"}, "timeouts": {"step": 1}}
    )
    check_types({"base_url": None, "token": None, "anything": 3})


@pytest.mark.parametrize("value", ["a", 0, -2, 2.5, True, np.array([1, 2]).tolist()])
def test_what_is_no_count_is_named(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^max_episode_steps= must be an integer of at least 1 or None or -1"):
        check_count("max_episode_steps", value, also=(None, -1))


@pytest.mark.parametrize("value", [1, 500, None, -1])
def test_counts_and_what_is_allowed_besides_pass(value: Any) -> None:
    check_count("max_episode_steps", value, also=(None, -1))


def test_the_options_of_a_reset_are_a_dict() -> None:
    check_reset_options(None)
    check_reset_options({"natural": True})
    with pytest.raises(ConfigurationError, match=r"reset\(options=\) must be a dict"):
        check_reset_options([1])


def test_a_count_may_be_an_integer_of_numpy() -> None:
    check_count("num_envs", np.int64(2))
