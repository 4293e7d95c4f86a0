"""Makes the virtual environments of ``make test`` beside something else: ``python -m tests.support.ahead``.

A test that needs one of them sooner waits for it. One that cannot be made here is said, and tried again by its test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.support.documentation import documentation_environment
from tests.support.gymnasium_versions import OLDEST, gymnasium_environment
from tests.support.mcp_clients import REQUIREMENTS, mcp_client
from tests.support.stock import CURRENT, stock_environment
from tests.support.venvs import VenvUnavailable

_AT_ONCE = 2
"""pip waits for the network about half of its time."""

_WANTED: tuple[Callable[[], object], ...] = (
    partial(stock_environment, CURRENT, with_ours=True),
    partial(gymnasium_environment, OLDEST),
    *(partial(mcp_client, name) for name in REQUIREMENTS),
    documentation_environment,
)
"""What the tests need, about in the order in which they do."""


def _make(wanted: Callable[[], object]) -> None:
    try:
        wanted()
    except VenvUnavailable as error:
        print(error, file=sys.stderr, flush=True)


if __name__ == "__main__":
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_make, _WANTED))
