from __future__ import annotations

import pytest
from openenv_gym_server.pages import PageRules, is_loopback


def status(rules: PageRules, host: str | None, origin: str | None = None, **others: str) -> int | None:
    headers = {"host": host, "origin": origin} | {name.replace("_", "-"): value for name, value in others.items()}
    told = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value is not None]
    refusal = rules.refusal(told)
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("example.org", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, None),
        ("http://localhost:8000", None),
        ("https://LOCALHOST:8000", None),
        ("http://localhost:8001", 403),
        ("http://localhost", 403),
        ("https://evil.example", 403),
        ("https://localhost:8000.evil.example", 403),
        ("https://evil.example/localhost:8000", 403),
        ("http://[::1", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_a_page_of_the_servers_own_may_ask(origin: str | None, expected: int | None) -> None:
    assert status(PageRules(), "localhost:8000", origin) == expected
    assert status(PageRules(is_protected=True), "localhost:8000", origin) == expected


OWNED = ["evil.example:8000", "evil.example.", "a.b.evil.example", "localhost.evil.example", "127.0.0.1.evil.example"]
UNOWNED = [
    "localhost:8000",
    "127.0.0.1:8000",
    "[::1]:8000",
    "10.1.2.3",
    "environment:8000",
    "host.docker.internal:8000",
    "echo.rollouts.svc.cluster.local",
    "echo.rollouts.svc:80",
    "machine.local",
    "app.localhost:3000",
]


@pytest.mark.parametrize("host", OWNED)
def test_a_name_that_somebody_can_own_is_refused_to_browsers_alone(host: str) -> None:
    assert status(PageRules(), host, f"http://{host}") == 421
    assert status(PageRules(), host, accept_language="de") == 421
    assert status(PageRules(), host, sec_fetch_site="same-origin") == 421
    assert status(PageRules(), host) is None
    assert status(PageRules(is_protected=True), host, f"http://{host}") is None


@pytest.mark.parametrize("host", UNOWNED)
def test_names_of_machines_containers_and_clusters_are_nobodys(host: str) -> None:
    assert status(PageRules(), host, f"http://{host}") is None
    assert status(PageRules(), host, accept_language="de") is None


@pytest.mark.parametrize("host", [None, "", "[::1", "."])
def test_a_browser_that_names_no_host_is_refused(host: str | None) -> None:
    assert status(PageRules(), host, accept_language="de") == 421


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("env.example.org", None),
        ("ENV.example.org:8443", None),
        ("a.spaces.example.org", None),
        ("spaces.example.org", 421),
        ("aspaces.example.org", 421),
        ("exact.example.org:81", None),
        ("exact.example.org:82", 421),
        ("localhost:8000", None),
        ("127.0.0.1", None),
        ("10.1.2.3", 421),
        ("environment", 421),
        (None, 421),
    ],
)
def test_a_list_of_hosts_holds_for_all(host: str | None, expected: int | None) -> None:
    rules = PageRules(hosts=["Env.example.org", "*.spaces.example.org", "exact.example.org:81"], is_protected=True)
    assert status(rules, host) == expected


def test_a_star_allows_every_host() -> None:
    assert status(PageRules(hosts=["*"]), "evil.example", "http://evil.example") is None


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://app.example.org", None),
        ("http://app.example.org", 403),
        ("https://app.example.org:444", 403),
        ("https://a.lab.example.org", None),
        ("https://lab.example.org", 403),
        ("http://a.lab.example.org", 403),
        ("http://localhost:8000", None),
    ],
)
def test_listed_origins_are_let_in_beside_the_servers_own(origin: str, expected: int | None) -> None:
    rules = PageRules(origins=["https://app.example.org/", "https://*.lab.example.org"])
    assert status(rules, "localhost:8000", origin) == expected


def test_a_star_allows_every_origin_and_no_host() -> None:
    rules = PageRules(origins=["*"])
    assert status(rules, "localhost", "null") is None
    assert status(rules, "evil.example", "http://evil.example") == 421


@pytest.mark.parametrize("name", [b"host", b"origin"])
def test_two_headers_that_could_disagree_are_refused(name: bytes) -> None:
    refusal = PageRules().refusal([(b"host", b"localhost"), (name, b"localhost"), (name, b"localhost")])
    assert refusal is not None
    assert refusal.status == 400
