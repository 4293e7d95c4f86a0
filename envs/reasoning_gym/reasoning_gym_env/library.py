"""The library: loaded when first needed, and never given an answer to run."""

from __future__ import annotations

import random
import sys
import threading
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reasoning_gym_env.steadying import steady_modules

LIBRARY = "reasoning_gym"

EVALUATING = (
    "reasoning_gym.algorithmic.binary_matrix",
    "reasoning_gym.algorithmic.spiral_matrix",
    "reasoning_gym.algorithmic.string_insertion",
    "reasoning_gym.games.n_queens",
)
"""Modules that give an answer to Python's ``eval`` where it is not the expected text."""

SHARING = frozenset({"list_functions", "pool_matrix"})
"""Datasets that draw from the random numbers which all of a process share."""

_loading, _drawing = threading.Lock(), threading.Lock()

_loaded: Any = None


def library() -> Any:
    """The library's module.

    The first call takes the seconds of its import, and sees to the order of sets. From then on ``eval`` in the modules
    of ``EVALUATING`` reads literals only, so that no answer is run: a list is the same list, and all else is a wrong
    answer.
    """
    global _loaded
    with _loading:
        if _loaded is not None:
            return _loaded
        loaded = import_module(LIBRARY)
        import_module(f"{LIBRARY}.composite")  # it registers itself
        for name in EVALUATING:
            vars(import_module(name))["eval"] = literal_eval
        steady_modules()
        _loaded = loaded
        return loaded


def warm_up() -> None:
    """Begins to load the library, beside the server's start; who needs it before then waits.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    if find_spec(LIBRARY) is None:
        raise ModuleNotFoundError(f"No module named {LIBRARY!r}", name=LIBRARY)
    threading.Thread(target=library, name="reasoning-gym-import", daemon=True).start()


@contextmanager
def own_chance(seed: int) -> Iterator[None]:
    """Has the random numbers that all of a process share start at a seed, and puts them back.

    The datasets of ``SHARING`` would ask something else each time without it. One thread at a time is here.
    """
    with _drawing:
        numpy: Any = sys.modules["numpy"]
        before, before_numpy = random.getstate(), numpy.random.get_state()
        random.seed(seed)
        numpy.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(before)
            numpy.random.set_state(before_numpy)
