"""One answer of those of all worker processes."""

from __future__ import annotations

import json

from openenv_gym_server.replicas.merging import Answer, merged, read_answer


def ready(*, is_ready: bool, active: int = 0, reasons: tuple[str, ...] = ()) -> Answer:
    body = {"ready": is_ready, "reasons": reasons, "active_sessions": active, "max_sessions": 4, "hung_sessions": 1}
    return answer("200 OK" if is_ready else "503 Service Unavailable", json.dumps(body))


def answer(status: str, body: str) -> Answer:
    found = read_answer(f"HTTP/1.1 {status}\r\nContent-Type: x\r\n\r\n{body}".encode())
    assert found is not None
    return found


def body_of(raw: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(raw.partition(b"\r\n\r\n")[2])
    return found


def test_a_server_is_ready_while_one_process_is_and_its_sessions_are_those_of_all() -> None:
    raw = merged("/ready", [ready(is_ready=False, active=4, reasons=("all sessions are taken",)), ready(is_ready=True)])
    assert raw.startswith(b"HTTP/1.1 200 ")
    assert body_of(raw) == {
        "ready": True,
        "reasons": [],
        "active_sessions": 4,
        "max_sessions": 8,
        "hung_sessions": 2,
    }


def test_a_server_whose_processes_are_not_ready_says_why() -> None:
    full = ready(is_ready=False, active=4, reasons=("all sessions are taken",))
    raw = merged("/ready", [full, full, None])
    assert raw.startswith(b"HTTP/1.1 503 ")
    assert body_of(raw)["reasons"] == ["all sessions are taken", "1 worker processes give no answer"]


def test_metrics_are_summed_by_name_and_labels_and_described_once() -> None:
    page = '# HELP a All.\n# TYPE a counter\na{b="1"} 2.0\na{b="2"} 1e-05\n'
    raw = merged("/metrics", [answer("200 OK", page), answer("200 OK", page + "c 1.0\n")])
    lines = raw.partition(b"\r\n\r\n")[2].decode().splitlines()
    assert lines == ["# HELP a All.", "# TYPE a counter", 'a{b="1"} 4.0', 'a{b="2"} 2e-05', "c 1.0"]


def test_a_refusal_is_passed_on_as_it_is() -> None:
    refusal = answer("401 Unauthorized", "no token")
    assert merged("/metrics", [answer("200 OK", ""), refusal]) == refusal.raw


def test_without_an_answer_there_is_one_all_the_same() -> None:
    assert merged("/ready", [None, None]).startswith(b"HTTP/1.1 503 ")


def test_what_is_no_answer_counts_as_none() -> None:
    assert read_answer(b"") is None
    assert read_answer(b"nonsense\r\n\r\n") is None
