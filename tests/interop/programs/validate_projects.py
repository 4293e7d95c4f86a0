"""openenv's own ``openenv validate`` looks at projects, all in one process: its imports take seconds.

Usage: python validate_projects.py FOLDER..., and each folder's report is a line of JSON.
"""

from __future__ import annotations

import json
import sys

from openenv.cli.__main__ import app
from typer.testing import CliRunner


def main() -> None:
    """Prints what the command said of each folder."""
    for folder in sys.argv[1:]:
        result = CliRunner().invoke(app, ["validate", "--level", "static", "--json", folder])
        print(json.dumps({"exit_code": result.exit_code, "stdout": result.stdout, "stderr": result.stderr}), flush=True)


if __name__ == "__main__":
    main()
