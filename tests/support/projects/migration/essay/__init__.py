"""An essay that is written sentence by sentence and marked by rubrics, written for openenv."""

from .client import EssayEnv  # noqa: TID252
from .models import EssayAction, EssayObservation, EssayState  # noqa: TID252

__all__ = ["EssayAction", "EssayEnv", "EssayObservation", "EssayState"]
