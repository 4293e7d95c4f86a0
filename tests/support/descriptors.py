"""A process without a free descriptor, as one with thousands of connections may be."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Lowers this process's limit of descriptors to those it has open, for as long as the block runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        # Up to the first free one above all that are in use, every number is taken.
        highest = max(int(each.name) for each in Path("/dev/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        for _ in range(highest + 1):
            try:
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
