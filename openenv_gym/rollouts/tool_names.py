"""Names of Python's for tools and their arguments, whose own may be any text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

RESERVED = frozenset({"reset", "get_reward"})
"""Names that trainers use for their own control of an environment."""


def function_name(name: str, taken: Collection[str] = ()) -> str:
    """A name that a public function can have: an identifier, no keyword, none of the trainers', and not taken.

    Args:
        name: The tool's own.
        taken: The names that others have already.
    """
    found = _identifier(name, "tool")
    if keyword.iskeyword(found) or found in RESERVED:
        found = f"{found}_tool"
    return _free(found, taken)


def argument_name(name: str, taken: Collection[str] = ()) -> str:
    """A name that an argument of a method can have; see ``function_name``."""
    found = _identifier(name, "argument")
    if keyword.iskeyword(found) or found == "self":
        found = f"{found}_"
    return _free(found, taken)


def _identifier(name: str, otherwise: str) -> str:
    # Leading underscores make a function private, and dunder methods are Python's own.
    found = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or otherwise
    return f"{otherwise}_{found}" if found[0].isdigit() else found


def _free(name: str, taken: Collection[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
