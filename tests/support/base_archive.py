"""The file system of the containers' base image: Debian with Python 3.11, made without any image registry.

``python -m tests.support.base_archive`` makes it ahead of the tests, by the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_DEBOOTSTRAP = (
    "debootstrap",
    "--variant=minbase",
    "--include=python3,python3-venv,python3-pip,ca-certificates",
    "bookworm",
)
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class EngineUnavailable(Exception):
    """No engine can run here: no root, no dockerd, or another engine that it would disturb."""


def base_archive() -> Path:
    """The base image's file system as an archive; made once and kept in the user's cache, outside of the checkout."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openenv-gym"
    archive = cache / "base-bookworm.tar"
    if not archive.exists():
        if shutil.which("debootstrap") is None or os.geteuid() != 0:
            raise EngineUnavailable("the base image is made by debootstrap (Debian: debootstrap), which needs root")
        cache.mkdir(parents=True, exist_ok=True)
        _make_base_archive(archive)
    return archive


def _make_base_archive(archive: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root = Path(folder) / "root"
        done = subprocess.run([*_DEBOOTSTRAP, str(root)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EngineUnavailable(f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        shutil.copy(_CERTIFICATES, root / "etc/ssl/certs/ca-certificates.crt")
        shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
        shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
        made = Path(folder) / "base.tar"
        subprocess.run(["tar", "--create", "--file", str(made), "--directory", str(root), "."], check=True)
        # Whole or not at all, also beside another run.
        partial = archive.with_suffix(f".{os.getpid()}")
        shutil.move(made, partial)
        partial.replace(archive)


if __name__ == "__main__":
    print(base_archive())
