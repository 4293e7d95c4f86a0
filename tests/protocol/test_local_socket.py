from __future__ import annotations

import pytest
from openenv_gym_protocol.local_socket import IS_SUPPORTED, is_allowed, local_name


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1", "\0openenv-gym/127.0.0.1/8000"),
        ("127.0.0.2", "\0openenv-gym/127.0.0.2/8000"),
        ("::1", "\0openenv-gym/::1/8000"),
        ("0:0:0:0:0:0:0:1", "\0openenv-gym/::1/8000"),
        ("0.0.0.0", "\0openenv-gym/127.0.0.1/8000"),
        ("::", "\0openenv-gym/::1/8000"),
    ],
)
def test_an_address_of_this_machine_alone_has_a_name(host: str, name: str) -> None:
    assert local_name(host, 8000) == name


def test_each_port_has_a_name_of_its_own() -> None:
    assert local_name("127.0.0.1", 8000) != local_name("127.0.0.1", 8001)


@pytest.mark.parametrize("host", ["localhost", "", "127.1", "10.0.0.1", "192.168.1.2", "8.8.8.8", "2001:db8::1"])
def test_names_and_addresses_that_others_reach_have_none(host: str) -> None:
    assert local_name(host, 8000) is None


@pytest.mark.parametrize("told", ["0", "1", None])
def test_the_variable_turns_it_off(told: str | None) -> None:
    environ = {} if told is None else {"OPENENV_GYM_LOCAL_SOCKET": told}
    assert is_allowed(environ) is (IS_SUPPORTED and told != "0")
