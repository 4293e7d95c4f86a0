"""The terminal by itself, without a server: its tasks, what it shows and what it withstands."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from terminal_git_env.confining import chosen
from terminal_git_env.environment import TerminalGitEnvironment, environment_of
from terminal_git_env.models import TerminalGitAction, TerminalGitObservation
from terminal_git_env.settings import BUNDLED_TASKS
from terminal_git_env.tasks import read_tasks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="The sandboxes are Linux's.")

TASKS = read_tasks(BUNDLED_TASKS)


@pytest.fixture(scope="module")
def kind() -> Any:
    return environment_of(chosen("auto"), TASKS)


@pytest.fixture
def terminal(kind: Any) -> Any:
    environment = kind()
    environment.reset(seed=1, task="write-report", max_steps=1000)
    yield environment
    environment.close()


def do(environment: TerminalGitEnvironment, command: str = "", **fields: Any) -> TerminalGitObservation:
    return environment.step(TerminalGitAction(command=command, **fields))


def solved(environment: TerminalGitEnvironment) -> TerminalGitObservation:
    desk = environment._episode.desk
    chosen_values = "".join(f"export TASK_{name.upper()}='{value}'\n" for name, value in desk.values.items())
    return do(environment, chosen_values + desk.task.solution)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_solution_of_a_task_is_paid_and_doing_nothing_is_not(kind: Any, name: str) -> None:
    environment = kind()
    try:
        environment.reset(seed=len(name), task=name)
        nothing = do(environment, "submit")
        assert (nothing.reward, nothing.done, nothing.success) == (0.0, True, False), nothing.output
        environment.reset(task=name)
        work = solved(environment)
        told = do(environment, action_type="submit")
        assert (told.reward, told.done, told.success) == (1.0, True, True), work.output + told.output
    finally:
        environment.close()


def test_a_seed_fixes_the_task_and_every_hash_in_it(kind: Any) -> None:
    def seen(seed: int | None, environment: Any) -> list[Any]:
        first = environment.reset(seed=seed)
        commit = do(environment, "git commit -q --allow-empty -m mine; git log --all --format='%H %ad'")
        return [first, commit]

    one, other = kind(), kind()
    try:
        begun = seen(3, one)
        assert begun[1].output.count("\n") > 1
        assert begun == seen(3, other)
        assert seen(None, one) == seen(None, other)
        assert seen(4, one) != begun
    finally:
        one.close()
        other.close()


def test_what_commands_print_is_shown_as_it_is(terminal: Any) -> None:
    assert do(terminal, "printf abc").output == "abc"
    assert do(terminal, "printf '\\033[31mred\\033[0m\\n'").output == "red\n"
    assert do(terminal, "printf '10%%\\r50%%\\rdone\\n'").output == "done\n"
    binary = do(terminal, "printf '\\377\\376\\001x'")
    assert (binary.output, binary.exit_code) == ("\ufffd\ufffdx", 0)
    assert do(terminal, "cat <<X\none\ntwo\nX\nfalse").output == "one\ntwo\n"


def test_the_shell_lasts_from_command_to_command(terminal: Any) -> None:
    do(terminal, "mkdir -p deep && cd deep; export KEPT=5; double() { echo $(($1 * 2)); }; false")
    seen = do(terminal, "echo $? $KEPT $PWD; double 4")
    assert seen.output == f"1 5 {seen.working_dir}\n8\n"
    assert seen.working_dir.endswith("/work/deep")


def test_output_is_cut_in_the_middle_and_says_so(terminal: Any) -> None:
    seen = do(terminal, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert seen.output.startswith("first\nx")
    assert seen.output.endswith("x\nlast\n")
    assert f"[... {seen.metadata['left_out']} bytes left out ...]" in seen.output
    assert seen.metadata["left_out"] == 3_000_000 + len("first\n\nlast\n") - terminal.output_limit


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60",
        "while :; do :; done",
        "yes",
        "vi example.txt",
        "less example.txt",
        "trap '' INT TERM; echo deaf; sleep 60",
        "bash",
        "stty raw -echo; sleep 60",
    ],
)
def test_what_takes_too_long_is_ended_and_the_shell_goes_on(terminal: Any, command: str) -> None:
    do(terminal, "export KEPT=5")
    seen = do(terminal, command, wait_seconds=0.4)
    assert (seen.exit_code, seen.success, seen.metadata["timed_out"]) == (124, False, True)
    assert "too long" in seen.error
    after = do(terminal, "echo $KEPT")
    assert (after.output, after.metadata["new_shell"]) == ("5\n", False)


def test_a_prompt_is_on_the_screen_when_time_is_over(terminal: Any) -> None:
    assert "Password: " in do(terminal, "read -p 'Password: ' word", wait_seconds=3).output
    assert "EDITOR unset" in do(terminal, "git commit --allow-empty").output


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("exec true", 0)])
def test_a_shell_that_ended_is_followed_by_another(terminal: Any, command: str, code: int) -> None:
    do(terminal, "export LOST=1; touch kept")
    seen = do(terminal, command)
    assert (seen.exit_code, seen.metadata["new_shell"]) == (code, True)
    assert "new one" in seen.error
    assert do(terminal, "echo $LOST; ls kept").output == "\nkept\n"


def test_a_shell_that_prints_nothing_any_more_is_replaced(terminal: Any) -> None:
    seen = do(terminal, "exec >/dev/null 2>&1", wait_seconds=0.3)
    assert (seen.metadata["timed_out"], seen.metadata["new_shell"]) == (True, True)
    assert do(terminal, "echo back").output == "back\n"


def test_output_cannot_end_a_command(terminal: Any) -> None:
    first = do(
        terminal, "cat /run/terminal/* 2>/dev/null; history; printf '\\036%032d\\t0\\t/x\\036' 7; sleep 0.2; (exit 9)"
    )
    assert first.exit_code == 9
    replayed = "x=$(set | grep -o '__terminal_word=.*'); sleep 0.1; printf '\\036%s\\036' ${x#*=}; (exit 8)"
    assert do(terminal, replayed).exit_code == 8


def test_a_running_program_is_talked_to_waited_for_and_killed(terminal: Any) -> None:
    seen = do(terminal, "read name; echo hello $name", block=False, wait_seconds=0)
    assert (seen.running, seen.success) == (True, False)
    assert "still running" in do(terminal, "ls").error
    seen = do(terminal, "ada\n", action_type="write", wait_seconds=20)
    assert (seen.output, seen.running, seen.exit_code) == ("hello ada\n", False, 0)
    do(terminal, "sleep 0.3; echo over", block=False, wait_seconds=0)
    assert do(terminal, action_type="wait", wait_seconds=20).output == "over\n"
    assert "nothing to wait" in do(terminal, action_type="wait").error
    do(terminal, "sleep 60", block=False, wait_seconds=0)
    killed = do(terminal, action_type="kill")
    assert (killed.running, killed.exit_code) == (False, 130), killed.output


def test_an_interrupt_that_is_lost_is_repeated_before_anything_harsher(terminal: Any) -> None:
    do(terminal, """bash -c 'trap "trap - INT" INT; while :; do sleep 0.1; done'""", block=False)
    assert do(terminal, action_type="kill").exit_code == 130


def test_files_are_read_and_written_as_the_agent_would(terminal: Any) -> None:
    assert do(terminal, action_type="write_file", file_path="a/b.txt", content="hé\n").success
    assert do(terminal, "cat a/b.txt").output == "hé\n"
    assert do(terminal, action_type="read_file", file_path="a/b.txt").output == "hé\n"
    do(terminal, "ln -s /etc/shadow link; ln -s ../../../../../etc/hostname up")
    for path in ("/etc/shadow", "link", "up", "none"):
        seen = do(terminal, action_type="read_file", file_path=path)
        assert (seen.success, "No such file" in seen.output) == (False, True)
    assert "file_path" in do(terminal, action_type="read_file").error


def test_what_cannot_be_done_is_said_and_not_done(terminal: Any) -> None:
    assert "NUL" in do(terminal, "touch a\0b").error
    assert "20 s" in do(terminal, "touch c", wait_seconds=60).error
    assert do(terminal, "ls -1").output == "example.out\nexample.txt\n"


def test_the_agent_sees_no_network_no_server_and_no_secret(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = do(terminal, "env; cat /proc/*/environ | tr '\\0' '\\n'").output
    assert "TASK_" not in seen
    assert "PYTHON" not in seen
    assert str(os.getpid()) not in do(terminal, "ls /proc").output.split()
    assert do(terminal, "cat < /dev/tcp/127.0.0.1/22").exit_code == 1
    assert do(terminal, "ls /run/secret /given /root /tmp").exit_code == 2
    for path in ("/x", "/usr/x", "/run/terminal/x", "/proc/sys/kernel/core_pattern"):
        assert do(terminal, f"echo x > {path}").exit_code == 1
    assert do(terminal, "unshare --user true").exit_code == 1
    assert "NoNewPrivs:\t1" in do(terminal, "grep -h -e NoNewPrivs -e CapEff /proc/self/status").output


@pytest.mark.parametrize(
    "script", ["cat expected $TMPDIR/expected /tmp/expected", "cat /given/test.sh $SECRET/*; env", "kill -9 $PPID", ""]
)
def test_a_program_of_the_agents_meets_no_test(terminal: Any, script: str) -> None:
    name = terminal._episode.desk.values["script"]
    do(terminal, "ln -s expected /tmp/output; ln -s /proc/self/fd/0 /tmp/expected; ln -s /tmp/expected /tmp/input")
    committed = do(terminal, f"echo '{script}' > {name}; git add -A; git commit -q -m x")
    assert committed.success, committed.output
    told = do(terminal, "submit")
    assert (told.reward, "awk" in told.output) == (0.0, False), told.output


def test_what_a_command_says_of_its_own_end_is_a_text(terminal: Any) -> None:
    forged = do(
        terminal, r"printf '\036%s\t%05000d\t/\036' $__terminal_word 0; printf '\036%s\t0\t/a\0b\036' $__terminal_word"
    )
    assert (forged.exit_code, forged.working_dir) == (0, "/home/agent/work")
    strange = do(terminal, r"mkdir $'\xff'; cd $'\xff'")
    assert strange.working_dir == "/home/agent/work/\ufffd"
    assert strange.model_dump_json()
    assert do(terminal, action_type="write_file", file_path="in", content="x").success
    assert do(terminal, "ls").output == "in\n"


def test_limits_hold(terminal: Any) -> None:
    assert do(terminal, "head -c 80M /dev/zero > big; stat -c %s big").output.endswith(f"{64 * 2**20}\n")
    do(terminal, "for i in $(seq 200); do sleep 60 & done 2>/dev/null", wait_seconds=1.5)
    counted = do(terminal, "jobs -p | wc -l", wait_seconds=1.5) if not terminal._episode.terminal.is_running else None
    assert counted is None or not counted.success or int(counted.output.split()[-1]) < 130


def all_asleep(mark: str, count: int) -> bool:
    """Whether so many programs sleep, once those that have begun have got so far."""
    give_up = time.monotonic() + 20
    while len(asleep(mark)) != count and time.monotonic() < give_up:
        time.sleep(0.01)  # no event tells that a shell's child has become another program
    return len(asleep(mark)) == count


def test_nothing_outlives_its_episode(kind: Any) -> None:
    mark = f"31{os.getpid() % 10_000:04d}"  # a number of seconds that no other test sleeps
    environment = kind()
    environment.reset(seed=1, task="write-report")
    do(environment, f"setsid sleep {mark} >/dev/null 2>&1 & nohup sleep {mark} & (sleep {mark} &) ; disown -a")
    assert all_asleep(mark, 3)
    folder = environment._episode.desk.session.root
    environment.reset(seed=1)
    assert all_asleep(mark, 0)  # the kernel ends them when it gets to it
    assert not folder.exists()
    do(environment, f"mkdir -p locked/in; chmod 0 locked; sleep {mark} &")
    folder = environment._episode.desk.session.root
    environment.close()
    assert all_asleep(mark, 0)
    assert not folder.exists()


def test_two_sessions_do_not_see_each_other(kind: Any) -> None:
    one, other = kind(), kind()
    try:
        one.reset(seed=1, task="write-report")
        other.reset(seed=1, task="write-report")
        do(one, "echo mine > ~/mine; echo mine > /tmp/mine; echo mine > example.txt; sleep 3131 &")
        seen = do(other, "ls ~ /tmp; grep -c mine example.txt; ps ax")
        assert "mine" not in seen.output.replace("grep", "")
        assert "3131" not in seen.output
        assert do(one, "cat ~/mine /tmp/mine example.txt").output == "mine\n" * 3
    finally:
        one.close()
        other.close()


def asleep(seconds: str) -> list[int]:
    """The living processes that sleep so long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
