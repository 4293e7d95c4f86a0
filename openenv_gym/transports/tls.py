"""Which certificates are trusted."""

from __future__ import annotations

import ssl

from openenv_gym_protocol.errors import ConfigurationError


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Trusts the system's certificates and those of a file.

    Args:
        ca_file: A file of PEM certificates, or None for the system's alone.

    Raises:
        ConfigurationError: The file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(f"ca_file {ca_file!r} cannot be used: {error}.") from error
    return context
