"""The conformance kit as tests of an author's own: ``pytest_plugins = ["openenv_gym.testing.plugin"]``.

A test that takes ``openenv_check`` becomes one a check::

    def test_conformance(openenv_check):
        openenv_check()

What is checked is the project in whose folder pytest runs, served in a process of its own;
``--openenv-project=FOLDER`` names another one, and ``--openenv-url=URL`` a server that runs. (With a space instead of
the ``=``, pytest takes the folder for the place of the tests.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.process import ProcessProvider
from openenv_gym.providers.requests import server_request
from openenv_gym.testing.conformance import CHECKS, Check, Status
from openenv_gym.testing.conformance.folder import ProjectFolder
from openenv_gym.testing.conformance.server import Server
from openenv_gym.testing.conformance.validating import server_at
from openenv_gym.transports.timeouts import Timeouts

_MANIFEST = "openenv.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that say what is checked."""
    group = parser.getgroup("openenv", "conformance of OpenEnv environments")
    group.addoption("--openenv-url", metavar="URL", help="check the server at this address")
    group.addoption("--openenv-token", metavar="TOKEN", help="what that server asks for, or env:NAME")
    group.addoption("--openenv-project", metavar="FOLDER", help="serve and check the project in this folder")
    group.addoption("--openenv-strict", action="store_true", help="advice on security and style is a failure")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test that takes ``openenv_check`` one a check."""
    if "openenv_check" in metafunc.fixturenames:
        has_folder = metafunc.config.getoption("openenv_url") is None
        checks = [check for check in CHECKS if has_folder or not check.is_static]
        metafunc.parametrize("openenv_check", checks, ids=[check.name for check in checks], indirect=True)


@pytest.fixture(scope="session")
def openenv_project(pytestconfig: pytest.Config) -> ProjectFolder:
    """The project that is checked."""
    named = pytestconfig.getoption("openenv_project")
    folder = Path(named).expanduser().resolve() if named else pytestconfig.rootpath
    if not (folder / _MANIFEST).is_file():
        raise pytest.UsageError(f"{folder} has no {_MANIFEST}: name a project by --openenv-project, or --openenv-url.")
    return ProjectFolder(folder)


@pytest.fixture(scope="session")
def openenv_server(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server that is checked, while the tests run."""
    url = pytestconfig.getoption("openenv_url")
    if url is not None:
        yield _answering(url, pytestconfig.getoption("openenv_token"))
        return
    project: ProjectFolder = request.getfixturevalue("openenv_project")
    wanted = server_request(path=project.folder, image=None, provider="process", settings=None)
    started = ProcessProvider().start(wanted, Deadline(Timeouts().start))
    try:
        yield server_at(started.base_url, token=started.token, declared=project.declared)
    finally:
        started.stop()


@pytest.fixture
def openenv_check(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Makes one check: it fails or skips the test, and prints advice."""
    check: Check = request.param
    subject = request.getfixturevalue("openenv_project" if check.is_static else "openenv_server")
    strict = request.config.getoption("openenv_strict")

    def make() -> None:
        finding = check.made(subject, strict=strict)
        told = f"{finding.message} {finding.remedy}".strip()
        if finding.status is Status.SKIPPED:
            pytest.skip(told)
        if finding.status is Status.FAILED:
            pytest.fail(f"{check.told}\n{told}", pytrace=False)
        if told:
            print(told)

    return make


def _answering(url: str, token: str | None) -> Server:
    try:
        return server_at(url, token=token)
    except OpenEnvGymError as error:
        raise pytest.UsageError(error.message) from error
