"""The typed environment, in a process that has loaded numpy besides."""

from __future__ import annotations

import numpy  # noqa: F401  (what it weighs is measured)

from benchmarks.apps.typed import app

__all__ = ["app"]
