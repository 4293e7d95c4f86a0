"""Where a server runs its environments: what holds for each execution is tested in each."""

from __future__ import annotations

import pytest

EXECUTIONS = ("thread", "inline", "async")
"""What TEST_EXECUTION can be for the apps of the tests that read it."""

ALONE = pytest.mark.parametrize("execution", ["thread", "async"], scope="module")
"""For tests with a fixture ``execution``: those in which nobody waits for a lane that hangs, if it awaits in async."""
