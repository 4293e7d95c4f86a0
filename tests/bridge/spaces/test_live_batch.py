"""A batch in shared memory reads like a tuple of what is written there."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from openenv_gym.bridge.spaces.text import UnicodeText


def test_a_live_batch_reads_like_a_tuple() -> None:
    space = UnicodeText(4)
    memory = create_shared_memory(space, 2)
    view: Any = read_from_shared_memory(space, memory, 2)
    value: Any = "b"
    write_to_shared_memory(space, 1, value, memory)
    assert (len(view), list(view), view[1], view == ("", "b")) == (2, ["", "b"], "b", True)


def test_a_copy_keeps_what_was_written_when_it_was_made() -> None:
    space = UnicodeText(4)
    memory = create_shared_memory(space, 1)
    view: Any = read_from_shared_memory(space, memory, 1)
    values: list[Any] = ["old", "new"]
    write_to_shared_memory(space, 0, values[0], memory)
    copied = deepcopy(view)
    write_to_shared_memory(space, 0, values[1], memory)
    assert (copied, tuple(view)) == (("old",), ("new",))
