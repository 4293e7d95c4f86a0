"""CPU time and memory of other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks.clocks import cpu_seconds, resident_bytes

_CHILD_WORKS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", '''
import time
while time.process_time() < 0.2: pass
print("worked", flush=True)
input()
'''])
child.wait()
"""


def test_own_time_counts() -> None:
    before = time.process_time()
    told = cpu_seconds([os.getpid()])
    assert told >= before


def test_the_work_of_children_counts() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD_WORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "worked\n"
        told = cpu_seconds([process.pid])
        process.stdin.write("\n")
    assert told >= 0.2


def test_memory_that_is_held_is_seen() -> None:
    before = resident_bytes(os.getpid())
    held = bytearray(os.urandom(1)) * (64 * 2**20)
    assert resident_bytes(os.getpid()) - before > len(held) // 2
