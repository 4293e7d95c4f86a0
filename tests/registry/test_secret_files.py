from __future__ import annotations

import pytest
from openenv_gym_registry.secret_files import secret_in


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "conf/.env.production",
        "id_rsa",
        "keys/server.pem",
        "a/credentials",
        "credentials.json",
        ".netrc",
        "A.PEM",
    ],
)
def test_names_of_secrets_are_known(path: str) -> None:
    assert secret_in(path, b"") == "is called as files with secrets are"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("-----BEGIN OPENSSH PRIVATE" + " KEY-----", "a private key"),
        ("-----BEGIN PRIVATE" + " KEY-----", "a private key"),
        ("token = 'hf_" + "a" * 34 + "'", "a Hugging Face token"),
        ("AKIA" + "A1" * 8, "an AWS key"),
        ("ghp_" + "b" * 36, "a GitHub token"),
        ("sk-ant-" + "c" * 40, "an API key"),
    ],
)
def test_contents_that_are_secrets_are_known_with_their_line(content: str, what: str) -> None:
    assert secret_in("app.py", f"first\n\n{content}\n".encode()) == f"has {what} in line 3"


def test_values_that_are_known_to_be_secrets_are_found_anywhere() -> None:
    assert secret_in("a.bin", b"\x00\xffhush-hush-hush", ["hush-hush-hush"]) == "has a secret of yours in line 1"
    assert secret_in("a.py", b"level = 3", ["3"]) is None


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("app.py", b"os.environ['HF_TOKEN']  # hf_..."),
        (".env.example", b"KEY="),
        ("server/credentials.py", b"def read(): ..."),
        ("key.py", b"-----BEGIN PUBLIC KEY-----"),
        ("a.md", b"AKIAIOSFODNN7"),
    ],
)
def test_what_is_no_secret_is_left_alone(path: str, content: bytes) -> None:
    assert secret_in(path, content) is None
