"""Runs programs one after another, each in a fork of this process, which has imported openenv: that takes seconds.

A line of JSON on standard input names a program, its arguments, and the files that take what it writes; the answer is
a line with its exit code.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

for module in ("openenv.core", "openenv.core.env_server", "openenv.core.mcp_client"):
    with suppress(ImportError):  # early releases have other names
        import_module(module)


def run(asked: dict[str, Any]) -> None:
    """Becomes the program; on the way to its end."""
    for number, path in ((0, os.devnull), (1, asked["stdout"]), (2, asked["stderr"])):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    program = asked["program"]
    sys.argv = [program, *asked["arguments"]]
    sys.path[0] = str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


def exit_code_of(asked: dict[str, Any]) -> int:
    """Runs a program as the interpreter does, and says how it ended."""
    try:
        run(asked)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # the parent, which nothing may reach, learns of it by the exit code
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        code = exit_code_of(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), flush=True)
