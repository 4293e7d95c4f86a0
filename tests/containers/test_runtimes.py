"""Another runtime than the engine's default: gVisor, where it is installed."""

from __future__ import annotations

import docker
import pytest

from tests.support.containers import inside, inspected, obedient, started

pytestmark = [pytest.mark.containers, pytest.mark.usefixtures("server_image")]

KERNEL = "result = open('/proc/version').read()"


def test_gvisor_runs_a_hardened_server_on_a_kernel_of_its_own(client: docker.DockerClient) -> None:
    if "runsc" not in client.info()["Runtimes"]:
        pytest.skip("the engine has no gVisor (Debian: runsc)")
    server = started(obedient(options={"runtime": "runsc"}))
    assert inspected(client, server)["HostConfig"]["Runtime"] == "runsc"
    assert inside(server, KERNEL) != inside(started(obedient()), KERNEL)
    assert inside(server, "import os; result = os.getuid()") == 65534
    # gVisor looks at the rights first.
    assert inside(server, "open('/x', 'w')").startswith("PermissionError")
    assert inspected(client, server)["HostConfig"]["ReadonlyRootfs"] is True
