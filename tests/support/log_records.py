"""What the project itself logged, whatever else was: a task of an earlier test may be found destroyed at any time."""

from __future__ import annotations

import logging

import pytest


def records_of_ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The captured records of the project's own loggers."""
    return [record for record in caplog.records if record.name.startswith("openenv_gym")]
