from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.options import read_options


@dataclass(frozen=True, kw_only=True)
class Options:
    image: str | None = None
    memory: float = 1.0
    privileged: bool = False


def read(**options: Any) -> Options:
    return read_options(ServerRequest(options=tuple(options.items())), Options)


def test_options_are_read_by_name_and_have_defaults() -> None:
    assert read(image="x", memory=2) == Options(image="x", memory=2)
    assert read() == Options()


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownOption, match=r"unexpected keyword argument 'imgae'.*'image'"):
        read(imgae="x")


@pytest.mark.parametrize("options", [{"image": 3}, {"memory": "1g"}, {"memory": True}, {"privileged": 1}])
def test_a_value_of_another_type_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        read(**options)
