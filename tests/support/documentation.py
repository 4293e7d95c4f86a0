"""The virtual environment that builds the documentation's site; see ``tests.support.venvs``."""

from __future__ import annotations

from pathlib import Path

from tests.support.venvs import virtual_environment

_REQUIREMENTS = ("mkdocs>=1.6,<2", "mkdocs-material>=9.7", "mkdocstrings[python]>=1", "ruff>=0.11")
"""ruff breaks long signatures."""


def documentation_environment() -> Path:
    """The interpreter that has mkdocs.

    Raises:
        VenvUnavailable: Its environment is not there and could not be made.
    """
    return virtual_environment("docs", _REQUIREMENTS)
