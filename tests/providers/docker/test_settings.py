"""The checklist for containers, a test each, as far as it is about what the engine is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from openenv_gym.providers.docker.images import ImageFacts
from openenv_gym.providers.docker.options import DockerOptions
from openenv_gym.providers.docker.settings import Identity, container_settings, port_of, user_of


def image(*, user: str = "", port: int | None = None) -> ImageFacts:
    return ImageFacts(name="echo:1", id="sha256:1", digest="sha256:1", user=user, port=port, platform="linux/amd64")


def settings(
    *, token: str | None = "secret", variables: dict[str, str] | None = None, network: str | None = None, **options: Any
) -> dict[str, Any]:
    identity = Identity(name="c1", labels={"openenv-gym.server": "s1"}, token=token, network=network)
    return container_settings(DockerOptions(**options), variables or {}, image(), identity, 8000)


def test_memory_is_limited_and_swap_gives_no_more() -> None:
    assert settings()["mem_limit"] == settings()["memswap_limit"] == 1 << 30
    assert settings(memory="256m")["memswap_limit"] == 256 << 20


def test_processors_are_limited_on_request() -> None:
    assert "nano_cpus" not in settings()
    assert settings(cpus=0.5)["nano_cpus"] == 500_000_000


def test_processes_are_limited() -> None:
    assert settings()["pids_limit"] == 256
    assert settings(pids=64)["pids_limit"] == 64


def test_all_capabilities_are_dropped() -> None:
    assert settings()["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("hardening", ["strict", "compat"])
def test_no_process_gains_privileges_and_seccomp_stays_the_engines(hardening: str) -> None:
    made = settings(hardening=hardening)
    assert made["security_opt"] == ["no-new-privileges"]
    assert made["privileged"] is False


def test_the_root_is_read_only_and_tmp_is_small_and_runs_nothing() -> None:
    assert settings()["read_only"] is True
    assert settings()["tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,size=64m"}


def test_more_folders_in_memory_are_given_beside_tmp() -> None:
    made = settings(tmpfs={"/cache": "", "/big": "size=1g"})["tmpfs"]
    assert made == {"/tmp": made["/tmp"], "/cache": made["/tmp"], "/big": "size=1g"}
    assert settings(tmpfs={"/tmp": "size=1g"})["tmpfs"] == {"/tmp": "size=1g"}
    assert settings(volumes={"/data": "/tmp:rw"})["tmpfs"] == {}


@pytest.mark.parametrize(
    ("of_image", "expected"),
    [
        *((user, "65534:65534") for user in ("", "root", "0:0", "00", ":0", ":1000", "+0", "app")),
        *((user, None) for user in ("1000", "1000:1000")),
    ],
)
def test_nobody_runs_an_image_that_might_be_root(of_image: str, expected: str | None) -> None:
    assert user_of(DockerOptions(), image(user=of_image)) == expected


def test_a_named_user_counts() -> None:
    assert settings(user="1000:1000")["user"] == "1000:1000"


def test_the_server_is_published_on_loopback_at_a_port_of_the_engines_choice() -> None:
    assert settings()["ports"] == {"8000/tcp": ("127.0.0.1", None)}
    assert settings(bind_address="10.0.0.2", host_port=9000)["ports"] == {"8000/tcp": ("10.0.0.2", 9000)}


def test_what_may_reach_nothing_is_not_published_and_asks_no_resolver_of_the_machine() -> None:
    made = settings(egress=False, network="n1")
    assert "ports" not in made
    assert made["network"] == "n1"
    assert made["dns"] == ["192.0.2.1"]


def test_a_named_network_is_used() -> None:
    made = settings(network="mine")
    assert made["network"] == "mine"
    assert "dns" not in made


def test_open_files_are_limited_and_no_memory_image_is_left_by_a_crash() -> None:
    limits = {limit["Name"]: limit for limit in settings()["ulimits"]}
    assert limits["nofile"]["Hard"] == limits["nofile"]["Soft"] == 8192
    assert limits["core"]["Hard"] == 0


def test_an_init_process_waits_for_orphans_and_nothing_is_run_again() -> None:
    assert settings()["init"] is True
    assert settings()["restart_policy"] == {"Name": "no"}


def test_the_log_is_bounded() -> None:
    assert settings()["log_config"] == {"type": "json-file", "config": {"max-size": "10m", "max-file": "2"}}


def test_the_token_is_in_the_environment_and_nowhere_else() -> None:
    made = settings(token="very-secret")
    assert made.pop("environment")["OPENENV_GYM_TOKEN"] == "very-secret"
    assert "very-secret" not in repr(made)
    assert "OPENENV_GYM_TOKEN" not in settings(token=None, variables={"OPENENV_GYM_TOKEN": ""})["environment"]


def test_nothing_of_this_processs_environment_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HTTP_PROXY", "http://user:password@proxy")
    made = settings(token=None, variables={"LEVEL": "3"})
    assert made["environment"] == {"PYTHONUNBUFFERED": "1", "HOME": "/tmp", "LEVEL": "3"}
    # Nor of the docker command's configuration.
    assert made["use_config_proxy"] is False


def test_a_setting_beats_what_is_set_by_default() -> None:
    assert settings(variables={"HOME": "/home/app"})["environment"]["HOME"] == "/home/app"


def test_our_labels_stand_beside_the_requests() -> None:
    assert settings(labels={"team": "rl"})["labels"] == {"team": "rl", "openenv-gym.server": "s1"}


def test_volumes_are_read_only_by_default_and_must_be_there() -> None:
    made = settings(volumes={"/data": "/levels", "/out": "/out:rw"})["mounts"]
    assert [(each["Source"], each["Target"], each["ReadOnly"]) for each in made] == [
        ("/data", "/levels", True),
        ("/out", "/out", False),
    ]
    # A bind mount of this form never makes the folder it lacks.
    assert {each["Type"] for each in made} == {"bind"}


def test_the_image_is_meant_by_its_id_so_that_its_digest_is_the_one_recorded() -> None:
    assert settings()["image"] == "sha256:1"


@pytest.mark.parametrize(
    ("gpus", "count", "devices"),
    [("all", -1, []), (2, 2, []), ("2", 2, []), ("device=0,GPU-1", 0, ["0", "GPU-1"])],
)
def test_gpus_are_asked_for_by_number_or_name(gpus: str | int, count: int, devices: list[str]) -> None:
    (made,) = settings(gpus=gpus)["device_requests"]
    assert (made["Count"], made["DeviceIDs"], made["Capabilities"]) == (count, devices, [["gpu"]])
    assert "device_requests" not in settings()


def test_other_choices_are_passed_on() -> None:
    made = settings(runtime="runsc", platform="linux/amd64", command=["serve"], shm_size="1g")
    assert made["runtime"] == "runsc"
    assert made["platform"] == "linux/amd64"
    assert made["command"] == ["serve"]
    assert made["shm_size"] == 1 << 30
    assert {"runtime", "platform", "shm_size"} & set(settings()) == set()


def test_compat_gives_an_image_its_user_its_root_and_the_engines_capabilities_and_keeps_every_limit() -> None:
    strict, compat = settings(), settings(hardening="compat")
    assert "cap_drop" not in compat
    assert "read_only" not in compat
    assert compat["user"] is None
    assert compat["tmpfs"] == {}
    assert "HOME" not in compat["environment"]
    loosened = ("cap_drop", "read_only", "user", "tmpfs", "environment")
    assert {name: value for name, value in compat.items() if name not in loosened} == {
        name: value for name, value in strict.items() if name not in loosened
    }


@pytest.mark.parametrize(
    ("option", "project", "exposed", "expected"),
    [(9, 8, 7, 9), (None, 8, 7, 8), (None, None, 7, 7), (None, None, None, 8000)],
)
def test_the_port_is_the_requests_or_the_projects_or_the_images_or_8000(
    option: int | None, project: int | None, exposed: int | None, expected: int
) -> None:
    assert port_of(DockerOptions(port=option), project, image(port=exposed)) == expected
