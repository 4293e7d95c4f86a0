"""The application, where OpenEnv's tools look for it: ``uvicorn server.app:app`` in this project's folder."""

from __future__ import annotations

from dm_control_env.app import app
from dm_control_env.app import main as serve

__all__ = ["app", "main"]


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    serve()


if __name__ == "__main__":
    main()
