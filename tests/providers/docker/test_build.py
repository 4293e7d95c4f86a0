"""What a build refuses before an engine is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.docker import build_image


@pytest.mark.parametrize(
    ("path", "keywords", "named"),
    [(None, {}, "path"), (3, {}, "path"), (Path(), {"build_args": ["A"]}, "build_args")],
)
def test_what_has_a_wrong_type_is_refused_by_its_name(path: Any, keywords: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{named} must"):
        build_image(path, **keywords)
