"""How a running server is told to people."""

from __future__ import annotations

from openenv_gym.providers.server_environ import TOKEN_VARIABLE


def make_line(base_url: str, *, has_token: bool) -> str:
    """The line by which a server is stepped through Gymnasium.

    Args:
        base_url: The server's address.
        has_token: Whether it asks for a token, which stands in ``OPENENV_GYM_TOKEN``.
    """
    token = f', token="env:{TOKEN_VARIABLE}"' if has_token else ""
    return f'gymnasium.make("openenv_gym:openenv/Remote-v0", base_url="{base_url}"{token})'
