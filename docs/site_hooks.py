"""What mkdocs does besides: the changelog as a page, and links that leave docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parents[1]

_PAGES = {"CHANGELOG.md": "changelog.md"}
"""Files of the repository that the site has a page of."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Adds the changelog, which lies where everybody looks for it and not in docs/."""
    for source, page in _PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Rewrites links that leave docs/: to the site's page, else to the repository, else to plain text."""
    source = page.file.src_uri
    folder = "" if source in _PAGES.values() else "docs"  # where the page lies in the repository
    parts = _FENCE.split(markdown)
    for number in range(0, len(parts), 2):
        parts[number] = _LINK.sub(lambda found: _rewritten(found, source, folder, config.repo_url), parts[number])
    return "".join(parts)


def _rewritten(found: re.Match[str], source: str, folder: str, repository: str | None) -> str:
    mark, text, target, anchor = found[1], found[2], found[3], found[4] or ""
    if ":" in target:
        return found[0]
    here = posixpath.dirname(posixpath.join(folder, source))
    path = posixpath.normpath(posixpath.join(here, target))
    if path in _PAGES or (folder == "" and path.startswith("docs/")):
        page = _PAGES.get(path, path.removeprefix("docs/"))
        return f"{mark}[{text}]({posixpath.relpath(page, posixpath.dirname(source) or '.')}{anchor})"
    if path.startswith("docs/"):
        return found[0]
    if not repository or mark:
        return text
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"[{text}]({repository.rstrip('/')}/{kind}/main/{path}{anchor})"
