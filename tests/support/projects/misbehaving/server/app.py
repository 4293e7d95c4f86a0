"""The misbehaving environment as a project; the repository has to be in PYTHONPATH."""

from __future__ import annotations

from tests.support.apps.misbehaving import app

__all__ = ["app"]
