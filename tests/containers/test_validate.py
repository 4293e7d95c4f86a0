"""``openenv validate`` with a real engine: a project whose code is not trusted, and an image."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.command import openenv
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.pools import eventually
from tests.support.project_images import FROM_VENDOR, Images, wheels_of

pytestmark = [pytest.mark.containers, pytest.mark.timeout(600)]

BUILD_SECONDS = 400.0


@pytest.fixture
def pools() -> Iterator[dict[str, str]]:
    """A folder for pools of the test's own, as environment variables."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


def failed_and_passed(told: str) -> tuple[dict[str, str], set[str]]:
    """The messages of the failed checks, and the names of those that passed."""
    findings: list[dict[str, Any]] = json.loads(told)["findings"]
    failed = {finding["check"]: finding["message"] for finding in findings if finding["status"] == "failed"}
    return failed, {finding["check"] for finding in findings if finding["status"] == "passed"}


def test_a_project_and_its_image_are_checked_in_containers(
    engine: Engine, images: Images, pools: dict[str, str], tmp_path: Path
) -> None:
    project = make_project(new_project("checked", "typed", tmp_path / "checked"))
    options = [f"--base-image={BASE_IMAGE}", *(f"--build-arg={name}={value}" for name, value in FROM_VENDOR.items())]
    options += [f"--wheel={wheel}" for wheel in (images.own_wheel, *wheels_of(project))]
    run = openenv("validate", project, *options, "--json", env=pools, timeout=BUILD_SECONDS)
    assert run.returncode == 0, run.stderr
    failed, passed = failed_and_passed(run.stdout)
    assert failed == {}
    assert passed >= {"manifest", "client", "rewards-in-range", "token-asked-for", "no-compression"}
    of_image = openenv("validate", "--image", "openenv-checked:0.1.0", "--json", env=pools)
    assert of_image.returncode == 0, of_image.stderr
    assert json.loads(of_image.stdout)["target"] == "openenv-checked:0.1.0"
    failed, passed = failed_and_passed(of_image.stdout)
    assert failed == {}
    assert "manifest" not in passed
    assert passed >= {"client", "token-asked-for"}
    # Of processes, the command tells those of this user's other pools too, and so those of tests that run beside.
    assert eventually(lambda: "container" not in kinds_that_run(pools))


def kinds_that_run(pools: dict[str, str]) -> set[str]:
    """The kinds of what ``openenv ps`` tells of."""
    return {each["kind"] for each in json.loads(openenv("ps", "--json", env=pools).stdout)}
