"""The random numbers of one session, for games that draw from those of the whole process."""

from __future__ import annotations

import io
import logging
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

logger = logging.getLogger(__name__)

_turn = threading.RLock()
"""Who holds it has the process's random numbers for itself."""


class OwnRandomness:
    """The states that Python's and numpy's global random numbers have for one session.

    TextArena's games draw from the global ones, which all sessions of a process share. Within ``mine`` they are this
    session's, no other session's code runs, and what is printed goes to the log.
    """

    def __init__(self) -> None:
        self._python: Any = random.Random(0).getstate()
        self._numpy: Any = None

    @contextmanager
    def mine(self, seed: int | None = None) -> Iterator[None]:
        """Lends the session's random numbers to whatever draws from the global ones.

        Args:
            seed: Starts them anew; None: they go on.
        """
        with _turn:
            numpy = sys.modules.get("numpy")
            theirs = random.getstate(), None if numpy is None else numpy.random.get_state()
            if seed is None:
                random.setstate(self._python)
                if numpy is not None and self._numpy is not None:
                    numpy.random.set_state(self._numpy)
            else:
                random.seed(seed)
                if numpy is not None:
                    numpy.random.seed(seed % 2**32)
            printed = io.StringIO()
            try:
                with redirect_stdout(printed):
                    yield
            finally:
                if printed.getvalue():
                    logger.debug("The game printed: %s", printed.getvalue().strip()[:1000])
                self._python = random.getstate()
                # It may have been loaded meanwhile.
                numpy = sys.modules.get("numpy")
                self._numpy = None if numpy is None else numpy.random.get_state()
                random.setstate(theirs[0])
                if numpy is not None and theirs[1] is not None:
                    numpy.random.set_state(theirs[1])

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within ``mine``: what is drawn inside is given back."""
        before = random.getstate()
        numpy = sys.modules.get("numpy")
        theirs = None if numpy is None else numpy.random.get_state()
        try:
            yield
        finally:
            random.setstate(before)
            if numpy is not None and theirs is not None:
                numpy.random.set_state(theirs)
