from __future__ import annotations

import pytest
from openenv_gym_server.callers import caller_of, peer_of


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
    ],
)
def test_one_site_is_one_peer(address: str, peer: str) -> None:
    assert peer_of(address) == peer


@pytest.mark.parametrize("told", [b"a-1:b/c", b"x" * 128])
def test_a_clients_own_request_id_is_kept(told: bytes) -> None:
    assert caller_of({"headers": [(b"x-request-id", told)]}).request_id == told.decode()


@pytest.mark.parametrize("told", [b"", b"two words", b"line\nbreak", b"x" * 129, b"\xff"])
def test_one_that_does_not_fit_a_log_is_replaced(told: bytes) -> None:
    made_up = caller_of({"headers": [(b"x-request-id", told)], "client": None})
    assert made_up.request_id.isalnum()
    assert made_up.request_id != caller_of({"headers": []}).request_id
