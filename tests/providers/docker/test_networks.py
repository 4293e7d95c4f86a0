from __future__ import annotations

import sys

import pytest
from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.networks import refuse_where_unreachable


@pytest.mark.parametrize(
    ("address", "info"),
    [
        ("tcp://gpu-box:2376", {}),
        ("unix:///run/user/1000/docker.sock", {"SecurityOptions": ["name=seccomp", "name=rootless"]}),
        ("unix:///home/me/.docker/desktop/docker.sock", {"OperatingSystem": "Docker Desktop"}),
    ],
)
def test_it_is_refused_where_containers_are_out_of_reach(address: str, info: dict[str, object]) -> None:
    with pytest.raises(ProviderError, match="egress=False needs a Docker engine that runs on this machine"):
        refuse_where_unreachable(address, info)


@pytest.mark.skipif(sys.platform != "linux", reason="an engine elsewhere runs in a virtual machine")
def test_an_engine_on_this_machine_will_do() -> None:
    refuse_where_unreachable("unix:///var/run/docker.sock", {"OperatingSystem": "Debian GNU/Linux 12 (bookworm)"})
