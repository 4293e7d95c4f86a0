from __future__ import annotations

import os
import signal

import pytest
import typer
from openenv_gym_cli.exits import ExitCode, ending_well
from openenv_gym_protocol.errors import ConfigurationError, ProviderError, UnknownOption


def exit_code(outcome: BaseException | int | None) -> int:
    """How a command ends that raises or returns something."""

    def command() -> int | None:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    try:
        ending_well(command)()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (None, 0),
        (ExitCode.DONE, 0),
        (ExitCode.FAILED, 1),
        (ProviderError("no engine"), 1),
        (ConfigurationError("a bad name"), 2),
        (UnknownOption("no such option"), 2),
        (PermissionError(13, "Permission denied", "/etc/shadow"), 1),
        (OSError(28, "No space left on device"), 1),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
    ],
)
def test_every_ending_has_its_exit_code(outcome: BaseException | int | None, code: int) -> None:
    assert exit_code(outcome) == code


def test_an_error_is_told_beside_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(ConfigurationError("Choose another name."))
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Error: Choose another name.\n")


def test_a_fault_of_our_own_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code(ZeroDivisionError())


def test_a_file_that_fails_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failing = PermissionError(13, "Permission denied", "/etc/shadow")
    exit_code(failing)
    assert capsys.readouterr().err.startswith("Error: /etc/shadow: Permission denied.")
    monkeypatch.setenv("OPENENV_GYM_DEBUG", "1")
    with pytest.raises(PermissionError):
        exit_code(failing)


def test_where_nobody_reads_on_the_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BrokenPipeError):
        exit_code(BrokenPipeError())
    assert capsys.readouterr().err == ""


def test_sigterm_ends_every_command_as_ctrl_c_does() -> None:
    undone = []

    def command() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            undone.append("all")

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as ended:
        ending_well(command)()
    assert (ended.value.exit_code, undone) == (130, ["all"])
    assert signal.getsignal(signal.SIGTERM) == before
