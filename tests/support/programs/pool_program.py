"""Trainers for the tests of the pool, run as programs: each is the root of a process tree.

They write JSON lines and live until they are killed, told to end by a line on their input, or their server dies.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
import urllib.request
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from openenv_gym.providers import pool
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.location import pool_location

PLAIN = ServerRequest(path=str(Path(__file__).parents[1] / "projects" / "plain"))


def say(**data: Any) -> None:
    """Writes a line."""
    # In one piece: other processes write to the same pipe.
    os.write(1, json.dumps(data).encode() + b"\n")


def worker(report: Connection, hang: bool) -> None:
    """Leases, reports, and waits for an answer that never comes."""
    lease = pool.lease(PLAIN)
    report.send({"pid": os.getpid(), "server_id": lease.server_id, "base_url": lease.base_url})
    # A request in flight ends when the server dies; else the pipe ends when the root does.
    if hang:
        try:
            urllib.request.urlopen(lease.base_url + "/hang", timeout=60).close()
        except OSError:
            return
    time.sleep(60)


def tree(context: str, workers: int, hang: bool) -> None:
    """Workers of a start method, each with a lease."""
    chosen: Any = multiprocessing.get_context(context)
    reports = []
    for _ in range(workers):
        reader, writer = chosen.Pipe(duplex=False)
        chosen.Process(target=worker, args=(writer, hang), daemon=True).start()
        reports.append(reader)
    told = [reader.recv() for reader in reports]
    # Named only now: the workers have found this process without the variable.
    say(directory=str(pool_location().directory), workers=told)
    sys.stdin.readline()


def forking() -> None:
    """Leases, then forks a child that outlives it and never closes anything of its own accord."""
    lease = pool.lease(PLAIN, linger=0.0)
    if os.fork() == 0:
        # What a finalizer of an inherited environment does:
        lease.release()
        say(child=os.getpid(), held=lease.is_held)
        time.sleep(30)
        os._exit(0)
    say(directory=str(pool_location().directory), base_url=lease.base_url)
    sys.stdin.readline()
    lease.release()
    say(released=True)
    sys.stdin.readline()


def leaving() -> None:
    """Leases and ends without releasing, as trainers do."""
    lease = pool.lease(PLAIN)
    say(directory=str(pool_location().directory), base_url=lease.base_url)
    sys.stdin.readline()


def main() -> None:
    """Runs the program that the first argument names."""
    match sys.argv[1:]:
        case ["tree", context, workers, hang]:
            tree(context, int(workers), hang == "hang")
        case ["forking"]:
            forking()
        case ["leaving"]:
            leaving()
        case other:
            raise SystemExit(f"unknown program {other}")


if __name__ == "__main__":
    main()
