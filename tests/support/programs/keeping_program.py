"""A trainer with containers, run as a program: the root of a process tree, to be killed.

Its one argument says how many containers run; or ``creating``: that one is being made when it says so; or ``leasing``:
that two servers were leased of the pool.
"""

from __future__ import annotations

import json
import sys

import docker

from openenv_gym.providers import pool
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.watchdog_client import own_server
from tests.support.containers import obedient
from tests.support.keeping import SERVE, created, kept_at_once, kept_by, labels_for


def say() -> None:
    """Tells where the pool is."""
    print(json.dumps({"directory": str(pool_location().directory)}), flush=True)


def main() -> None:
    """Does what the argument says, until it is killed."""
    client = docker.from_env()
    if sys.argv[1] == "creating":
        owner = own_server(Deadline(30))
        kept_by(owner)
        say()
        created(client, labels_for(owner.server_id), SERVE)
    elif sys.argv[1] == "leasing":
        leases = [pool.lease(obedient(NUMBER=str(number))) for number in range(2)]
        say()
        sys.stdin.readline()
        del leases
    else:
        held = kept_at_once(client, int(sys.argv[1]))
        say()
        sys.stdin.readline()
        del held


if __name__ == "__main__":
    main()
