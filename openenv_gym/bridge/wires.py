"""The names of the two wires."""

from __future__ import annotations

from typing import Literal, TypeAlias

Wire: TypeAlias = Literal["vector", "standard"]
"""``vector``: many lanes on one connection; ``standard``: a connection for each, with every OpenEnv server."""
