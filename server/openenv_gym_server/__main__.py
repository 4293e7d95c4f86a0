"""``python -m openenv_gym_server server.app:app``."""

import sys

try:
    from openenv_gym_server.serve import main
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("uvicorn", "httptools", "fastapi", "starlette"):
        raise
    sys.exit(f'Serving needs {error.name}, which {sys.executable} does not have: pip install "openenv-gym[server]"')

main()
