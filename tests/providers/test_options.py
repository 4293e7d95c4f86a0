from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.options import read_options


@dataclass(frozen=True, kw_only=True)
class Options:
    image: str | None = None
    memory: float = 1.0
    privileged: bool = False
    volumes: dict[str, str] = field(default_factory=dict)
    command: list[str] | None = None
    pull: Literal["missing", "always", "never"] = "missing"


def read(**options: Any) -> Options:
    return read_options(ServerRequest(options=tuple(options.items())), Options)


def test_options_are_read_by_name_and_have_defaults() -> None:
    assert read(image="x", memory=2) == Options(image="x", memory=2)
    assert read() == Options()


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownOption, match=r"unexpected keyword argument 'imgae'.*'image'"):
        read(imgae="x")


def test_the_options_of_every_provider_are_suggested_too() -> None:
    with pytest.raises(UnknownOption, match=r"Did you mean 'linger'\? Known: command, image, linger, .*name, .*spares"):
        read(lingr=3)


@pytest.mark.parametrize(
    "options",
    [
        {"image": 3},
        {"memory": "1g"},
        {"memory": True},
        {"privileged": 1},
        {"volumes": ["/a:/b"]},
        {"volumes": {"/a": 1}},
        {"command": "echo"},
        {"command": ["echo", 1]},
        {"pull": None},
        {"pull": ["always"]},
    ],
)
def test_a_value_of_another_type_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        read(**options)


def test_lists_and_dicts_of_texts_are_read() -> None:
    options = read(volumes={"/a": "/b"}, command=["echo", "x"])
    assert options == Options(volumes={"/a": "/b"}, command=["echo", "x"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"volumes": 1}, r"must be dict\[str, str\], not 1"),
        ({"command": 1}, r"must be list\[str\] or None, not 1"),
        ({"image": 1}, "must be str or None, not 1"),
    ],
)
def test_an_error_says_what_type_is_wanted(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        read(**options)


def test_an_unknown_choice_names_the_nearest_and_all() -> None:
    with pytest.raises(ConfigurationError, match=r"'missing' or 'always' or 'never', not 'alway'.*mean 'always'"):
        read(pull="alway")
