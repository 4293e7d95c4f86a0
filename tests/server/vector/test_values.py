from __future__ import annotations

import subprocess
import sys

import numpy as np
from openenv_gym_protocol.vector.array_data import ArrayData
from openenv_gym_server.vector.values import plain


def test_arrays_become_arrays_that_can_be_written_to() -> None:
    value = plain({"a": [ArrayData("int16", (2, 1), b"\x01\x00\x02\x00")], "b": "text"})
    (array,) = value["a"]
    assert array.tolist() == [[1], [2]]
    array[0] = 5
    assert value["b"] == "text"
    assert array.dtype == np.int16


def test_a_value_is_never_the_same_object() -> None:
    options = {"a": {"b": [1]}}
    copied = plain(options)
    copied["a"]["b"].append(2)
    assert options == {"a": {"b": [1]}}


def test_without_numpy_arrays_become_lists() -> None:
    program = (
        "import sys\n"
        "from openenv_gym_protocol.vector.array_data import ArrayData\n"
        "from openenv_gym_server.vector.values import plain\n"
        "print(plain([ArrayData('uint8', (2, 2), b'abcd'), ArrayData('float32', (0, 3), b'')]), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[[97, 98], [99, 100]], []] False"
