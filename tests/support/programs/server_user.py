"""Uses a server of a project, and says which: ``server_user.py PROJECT``. It ends when its standard input does."""

from __future__ import annotations

import json
import os
import sys

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.pool import lease

used = lease(ServerRequest(path=sys.argv[1]))
told = {
    "id": used.server_id,
    "base_url": used.base_url,
    "pid": os.getpid(),
    "pool": str(pool_location().directory),
}
print(json.dumps(told), flush=True)
sys.stdin.read()
