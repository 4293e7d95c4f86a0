"""Where a token comes from."""

from __future__ import annotations

import os

from openenv_gym_protocol.errors import ConfigurationError

_BY_NAME = "env:"


def is_reference(token: str) -> bool:
    """Whether a token as users give it only says where the token is."""
    return token.startswith(_BY_NAME)


def is_header_value(token: str) -> bool:
    """Whether a token can stand in an HTTP header."""
    return bool(token) and token.isascii() and token.isprintable() and token.strip() == token


def resolve_token(token: str | None) -> str | None:
    """Reads a token as users give it.

    Args:
        token: The token itself; or ``env:NAME`` for the value of an environment variable, so that the token need
            not stand in a spec or a file; or None.

    Raises:
        ConfigurationError: The variable is not set or empty, or the token cannot be a header's value.
    """
    if token is not None and is_reference(token):
        name = token.removeprefix(_BY_NAME)
        token = os.environ.get(name)
        if not token:
            raise ConfigurationError(f"token='env:{name}' names an environment variable that is not set.")
    if token is not None and not is_header_value(token):
        raise ConfigurationError("The token is empty or has characters that no HTTP header may carry.")
    return token
