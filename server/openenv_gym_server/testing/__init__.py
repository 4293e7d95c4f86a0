"""For authors' tests: an environment in this process, driven as a client would."""

from openenv_gym_server.testing.local_client import LocalClient, LocalResult

__all__ = ["LocalClient", "LocalResult"]
