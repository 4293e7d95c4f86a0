from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.transports.tls import tls_context


def test_certificates_are_checked() -> None:
    context = tls_context(None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("content", [None, "", "not a certificate"])
def test_a_file_without_certificates_is_refused_by_name(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"own\.pem"):
        tls_context(str(file))
