"""A walk on the number line, written for openenv."""

from .client import NumberLineEnv  # noqa: TID252
from .models import NumberLineAction, NumberLineObservation  # noqa: TID252

__all__ = ["NumberLineAction", "NumberLineEnv", "NumberLineObservation"]
