"""The documentation site is built without a warning, holds together, and knows every public name."""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import openenv_gym_server
import pytest
import yaml

import openenv_gym
from openenv_gym import rollouts
from tests.support.documentation import documentation_environment
from tests.support.venvs import REPOSITORY, VenvUnavailable

CONFIGURATION = REPOSITORY / "mkdocs.yml"
DOCS = REPOSITORY / "docs"

BASE = "https://site.example"


@dataclass
class Page:
    """What a page of the site has: the places that links lead to, and the links."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value for name, value in attrs if value is not None}
        if "id" in told:
            self.page.ids.add(told["id"])
        if tag == "a" and "href" in told:
            self.page.links.append(told["href"])
        elif tag in ("link", "script", "img", "source", "iframe"):
            self.page.resources += [told[name] for name in ("href", "src") if name in told]


@dataclass
class Site:
    """The built site.

    Attributes:
        folder: Where it lies.
        printed: What mkdocs wrote.
        pages: By address, which is the path of the page in the site.
    """

    folder: Path
    printed: str
    pages: dict[str, Page]


def _build(folder: Path) -> Site:
    try:
        python = documentation_environment()
    except VenvUnavailable as error:
        pytest.skip(str(error))
    command = [str(python), "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # Links that leave docs/ lead somewhere; and no proxy that leads anywhere: a build loads nothing.
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "OPENENV_GYM_REPOSITORY": f"{BASE}/repository", "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    printed = run.stdout + run.stderr
    assert run.returncode == 0, printed
    pages = {str(path.relative_to(folder)): _read(path) for path in folder.rglob("*.html")}
    return Site(folder, printed, pages)


def _read(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site, built once."""
    return _build(tmp_path_factory.mktemp("site") / "site")


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose ``!ENV`` is no tag of YAML's own."""


def _unread(*_: object) -> None:
    """What the environment says is nothing to the navigation."""


_Loader.add_constructor("!ENV", _unread)


def _nav(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from _nav(each)


def _listed() -> list[str]:
    return list(_nav(yaml.load(CONFIGURATION.read_text(encoding="utf-8"), Loader=_Loader)["nav"]))


def _address(page: str) -> str:
    stem = page.removesuffix(".md").removesuffix("index")
    return "index.html" if not stem else posixpath.join(stem.rstrip("/"), "index.html")


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | {"changelog.md"}
    assert sorted(_listed()) == sorted(pages)


@pytest.mark.timeout(900)
def test_it_is_built_without_a_warning(site: Site) -> None:
    assert [line for line in site.printed.splitlines() if not line.startswith("INFO")] == []
    assert {_address(page) for page in _listed()} | {"404.html"} == site.pages.keys()


def _target(site: Site, address: str, path: str) -> str:
    """The file that a link's path leads to; links of the page 404 begin at the site's root."""
    if not path:
        return address
    start = "/" if path.startswith("/") else posixpath.join("/", posixpath.dirname(address))
    target = posixpath.normpath(posixpath.join(start, path)).lstrip("/")
    return posixpath.join(target, "index.html") if (site.folder / target).is_dir() else target


@pytest.mark.timeout(900)
def test_every_link_and_anchor_leads_somewhere(site: Site) -> None:
    broken = []
    checked = 0
    for address, page in site.pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = _target(site, address, unquote(parts.path))
            found = site.pages.get(target)
            is_file = found is not None or (site.folder / target).is_file()
            if not is_file or (parts.fragment and found is not None and unquote(parts.fragment) not in found.ids):
                broken.append(f"{address}: {link}")
    assert broken == []
    assert checked > 1000


@pytest.mark.timeout(900)
def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    resources = {each for page in site.pages.values() for each in page.resources}
    assert {each for each in resources if urlsplit(each).netloc} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css"))
    assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", styles)


@pytest.mark.timeout(900)
def test_links_that_leave_the_docs_lead_to_the_repository(site: Site) -> None:
    left = {link for page in site.pages.values() for link in page.links if link.startswith(f"{BASE}/repository/")}
    assert len(left) >= 4
    for link in left:
        kind, branch, path = link.removeprefix(f"{BASE}/repository/").split("/", 2)
        assert branch == "main"
        assert (REPOSITORY / path.partition("#")[0]).is_dir() == (kind == "tree")
        assert (REPOSITORY / path.partition("#")[0]).exists()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("package", "page"),
    [
        *((f"openenv_gym.{name}", None) for name in openenv_gym.__all__),
        *((f"openenv_gym_server.{name}", "server") for name in openenv_gym_server.__all__),
        *((f"openenv_gym.rollouts.{name}", "rollouts") for name in rollouts.__all__),
    ],
)
def test_every_public_name_is_in_the_reference(package: str, page: str | None, site: Site) -> None:
    reference = {address: each for address, each in site.pages.items() if address.startswith("reference/")}
    if page is not None:
        reference = {f"reference/{page}/index.html": site.pages[f"reference/{page}/index.html"]}
    assert any(package in each.ids for each in reference.values())
