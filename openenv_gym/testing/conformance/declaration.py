"""What a project says of its server ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a project's ``openenv.yaml`` promises. None: nothing is promised.

    Attributes:
        reward_range: The least and the greatest reward.
        tools: The names of the tools.
        spaces: The action space and the observation space, as data.
    """

    reward_range: tuple[float, float] | None = None
    tools: tuple[str, ...] | None = None
    spaces: dict[str, Any] | None = None
