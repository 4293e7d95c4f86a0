"""What in a project looks like a secret, by a file's name and by what stands in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

_NAMES = (
    ".env",
    ".env.*",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "credentials",
    "credentials.*",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
)
_EXAMPLES = (".env.example", ".env.sample", ".env.template", "credentials.py")
"""Names that are of no secret: what is to be filled in, and code."""

_CONTENTS = {
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    "a Hugging Face token": re.compile(rb"\b(?:hf|api_org)_[A-Za-z0-9]{30,}\b"),
    "an AWS key": re.compile(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,})\b"),
    "an API key": re.compile(rb"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b"),
    "a Slack token": re.compile(rb"\bxox[abprs]-[A-Za-z0-9-]{20,}\b"),
}
_SHORTEST = 8
"""Characters below which a value that is known to be a secret is not looked for: it could stand anywhere."""


def secret_in(path: str, content: bytes, known: Iterable[str] = ()) -> str | None:
    """Why a file looks like a secret; None when it does not. The secret itself is not told.

    Args:
        path: The file's path.
        content: What stands in it.
        known: Values that are known to be secrets, such as the token in use.
    """
    name = PurePosixPath(path).name.lower()
    if name not in _EXAMPLES and any(fnmatchcase(name, pattern) for pattern in _NAMES):
        return "is called as files with secrets are"
    for what, pattern in _CONTENTS.items():
        found = pattern.search(content)
        if found:
            return f"has {what} in line {_line(content, found.start())}"
    for value in known:
        start = content.find(value.encode()) if len(value) >= _SHORTEST else -1
        if start >= 0:
            return f"has a secret of yours in line {_line(content, start)}"
    return None


def _line(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
