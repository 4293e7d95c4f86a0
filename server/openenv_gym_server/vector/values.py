"""Values that came over the vector wire, as environments take them."""

from __future__ import annotations

import sys
from typing import Any

from openenv_gym_protocol.vector.array_data import ArrayData, arrays_replaced
from openenv_gym_protocol.vector.leaves import Leaf


def plain(value: Any) -> Any:
    """The same value with arrays of numpy in place of arrays as they travel, where the environment brought numpy.

    Where it did not, they are nested lists.
    """
    return arrays_replaced(value, _array)


def _array(array: ArrayData) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None and 0 in array.shape:
        return []
    leaf = Leaf((), array.dtype, tuple(array.shape))
    # A copy: a view of the frame would be read-only.
    return leaf.unpack(array.data)[0] if numpy is None else leaf.array(array.data, 1, numpy)[0].copy()
