from __future__ import annotations

from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers.docker.images import ImageFacts
from openenv_gym.providers.docker.options import DockerOptions
from openenv_gym.providers.docker.remedies import with_remedy

IMAGE = ImageFacts(name="echo:1", id="sha256:1", digest="sha256:1", user="", port=None, platform="linux/arm64")


def remedied(
    logs: str, exit_code: int | None, options: DockerOptions | None = None, message: str = "It is not ready."
) -> ServerStartError:
    error = ServerStartError(message, logs=logs, exit_code=exit_code)
    return with_remedy(error, options or DockerOptions(), IMAGE, 8000)


def test_an_image_for_another_platform_is_told_as_such() -> None:
    assert "echo:1 says it is for linux/arm64" in remedied("exec /bin/sh: exec format error", 1).message


def test_what_was_denied_to_a_hardened_container_is_told_with_how_to_allow_it() -> None:
    for said in (
        "OSError: [Errno 30] Read-only file system: '/app/x'",
        "PermissionError: [Errno 13] Permission denied",
    ):
        message = remedied(said, 1).message
        assert "tmpfs=" in message
        assert 'hardening="compat"' in message
        assert "hardening" not in remedied(said, 1, DockerOptions(hardening="compat")).message


def test_a_server_that_never_answers_is_told_where_it_should_listen() -> None:
    silent = "http://127.0.0.1:1/health answered nothing."
    assert "0.0.0.0:8000" in remedied("", None, message=silent).message
    assert "out of reach" not in remedied("", None, message=silent).message
    assert "out of reach" in remedied("Uvicorn running on http://127.0.0.1:8000", None, message=silent).message
    assert "0.0.0.0" not in remedied("", None, message="http://127.0.0.1:1/health answered status 503.").message


def test_logs_and_exit_code_stay_and_what_has_no_remedy_is_told_as_it_was() -> None:
    error = remedied("read-only file system", 3)
    assert (error.logs, error.exit_code) == ("read-only file system", 3)
    assert error.message.endswith("\nIt is not ready.")
    assert remedied("boom", 1).message == "It is not ready."
