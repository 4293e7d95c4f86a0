"""What settings and tasks have to be, and the ways to confine a shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from terminal_git_env import confining
from terminal_git_env.confining import chosen
from terminal_git_env.environment import environment_of
from terminal_git_env.models import TerminalGitAction
from terminal_git_env.places import PATH, Owner, Session
from terminal_git_env.sandbox import AGENT, SandboxFailed, run
from terminal_git_env.settings import BUNDLED_TASKS, Settings
from terminal_git_env.tasks import read_task, read_tasks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="The sandboxes are Linux's.")

SANDBOXES = [
    pytest.param("bubblewrap", marks=pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is missing")),
    "namespaces",
    "rlimits",
]


def made(folder: Path, **files: str) -> Path:
    task = folder / "a-task"
    texts = {
        "task.toml": '[variables]\nname = ["x"]\n',
        "instruction.md": "Do {{name}}.\n",
        "tests/test.sh": 'grep -q "$TASK_NAME" done\n',
        **{name.replace("__", "/"): text for name, text in files.items()},
    }
    for name, text in texts.items():
        if text:
            (task / name).parent.mkdir(parents=True, exist_ok=True)
            (task / name).write_text(text)
    return task


def played(folder: Path, command: str, sandbox: str = "auto") -> Any:
    environment = environment_of(chosen(sandbox), read_tasks(folder))()
    try:
        environment.reset(seed=1)
        seen = environment.step(TerminalGitAction(command=command))
        return seen, environment.step(TerminalGitAction(command="submit"))
    finally:
        environment.close()


@pytest.mark.parametrize("name", SANDBOXES)
def test_every_sandbox_runs_a_task_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    made(tmp_path)
    seen, told = played(tmp_path, "echo x > done; (setsid sleep 3232 >/dev/null 2>&1 &); git status --short", name)
    assert (seen.output, seen.exit_code) == ("?? done\n", 0), seen.error
    assert told.reward == 1.0, told.output
    sleeping = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"3232" in content(path)]
    assert sleeping == []


@pytest.mark.parametrize("name", SANDBOXES)
def test_the_secret_is_the_tests_alone(tmp_path: Path, name: str) -> None:
    made(
        tmp_path,
        environment__setup="mkdir $SECRET/in; echo hidden > $SECRET/in/answer; commit x",
        tests__test="test $(cat $SECRET/in/answer) = hidden && test $(cat $WORK/seen)x = x",
    )
    for folder in ("environment/setup", "tests/test"):
        (tmp_path / "a-task" / folder).rename(tmp_path / "a-task" / f"{folder}.sh")
    _, told = played(tmp_path, "cat /run/secret/in/* ../../secret/in/* > seen", name)
    assert told.reward == 1.0, told.output


@pytest.mark.parametrize("name", SANDBOXES)
def test_what_the_agent_left_where_tests_write_is_gone(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    before = victim.stat()
    tests = 'ls -A "$TMPDIR"; # /logs/verifier/reward.txt'
    task = made(tmp_path / "tasks", tests__test=tests)
    (task / "tests" / "test").rename(task / "tests" / "test.sh")
    left = f"touch $TMPDIR/mine; cd ../../logs; rmdir verifier; ln -s {victim} verifier; echo 1 > verifier/reward.txt"
    _, told = played(tmp_path / "tasks", left, name)
    assert (told.reward, told.output, told.error) == (0.0, "", "The tests wrote no reward.")
    after = victim.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)


@pytest.mark.parametrize("name", SANDBOXES)
def test_what_the_agent_wrote_runs_apart_from_the_tests(tmp_path: Path, name: str) -> None:
    made(
        tmp_path,
        environment__setup="echo hidden > $SECRET/answer; commit x",
        tests__agent__run="echo begun; sh $WORK/program",
        tests__test="cat $GIVEN/agent/output; test $(tail -n 1 $GIVEN/agent/output) = $(cat $SECRET/answer)",
    )
    for file in ("environment/setup", "tests/agent/run", "tests/test"):
        (tmp_path / "a-task" / file).rename(tmp_path / "a-task" / f"{file}.sh")
    _, told = played(tmp_path, "echo 'ls $GIVEN; cat $SECRET/answer; echo wrong' > program", name)
    assert (told.reward, told.output.splitlines()[:2], told.output.splitlines()[-1]) == (
        0.0,
        ["begun", "agent"],
        "wrong",
    )
    _, told = played(tmp_path, "echo 'echo hidden' > program", name)
    assert told.reward == 1.0, told.output


@pytest.mark.parametrize("name", SANDBOXES[:2])
def test_what_is_hidden_is_not_seen(name: str) -> None:
    session = Session.new(Owner.new())
    try:
        sandbox = chosen(name, [Path("/usr/share")])
        listed = ["sh", "-c", "ls -A /usr/share; ls -d /usr/bin; echo x > /usr/share/x"]
        finished = run(sandbox, session, AGENT, listed, {"PATH": PATH}, seconds=20, limit=1000)
        assert finished.output.text().splitlines()[0] == "/usr/bin"
        assert "Read-only" in finished.output.text()
    finally:
        session.remove()


def test_a_server_without_a_sandbox_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise SandboxFailed("No permissions to create a new namespace")

    monkeypatch.setattr(confining, "run", fails)
    with pytest.raises(ConfigurationError, match="cannot be confined here") as refused:
        chosen("auto")
    assert "bubblewrap: No permissions" in str(refused.value)
    assert "namespaces: No permissions" in str(refused.value)
    assert "TERMINAL_GIT_SANDBOX=rlimits" in str(refused.value)


def test_only_what_separates_sessions_serves_several() -> None:
    assert environment_of(chosen("auto"), {}).SUPPORTS_CONCURRENT_SESSIONS
    assert not environment_of(chosen("rlimits"), {}).SUPPORTS_CONCURRENT_SESSIONS


def test_files_alone_make_an_environment(tmp_path: Path) -> None:
    made(tmp_path, environment__src__a="1\n", environment__b="2\n", tests__test_sh="")
    (tmp_path / "a-task" / "tests" / "test.sh").write_text(
        'test "$(git -C "$ORIGIN" ls-tree -r --name-only main)" = "b\nsrc/a"'
    )
    seen, told = played(tmp_path, "git status --short; cat src/a b; git log --format=%s")
    assert (seen.output, told.reward) == ("1\n2\nStart\n", 1.0), told.output


@pytest.mark.skipif(shutil.which("python3", path=PATH) is None, reason="These tests are in Python.")
@pytest.mark.parametrize(("work", "reward"), [("echo x > done", 1.0), ("true", 0.0)])
def test_tests_may_be_in_python(tmp_path: Path, work: str, reward: float) -> None:
    test = (
        "import os, unittest\nfrom pathlib import Path\n"
        "def test_done() -> None:\n    assert Path(os.environ['WORK'], 'done').read_text() == 'x\\n'\n"
        "class Case(unittest.TestCase):\n    def test_too(self) -> None:\n        self.assertTrue(True)\n"
    )
    task = made(tmp_path, tests__test_one=test)
    (task / "tests" / "test_one").rename(task / "tests" / "test_one.py")
    (task / "tests" / "test.sh").unlink()
    _, told = played(tmp_path, work)
    assert (told.reward, "Ran 2 tests" in told.output) == (reward, True), told.output


@pytest.mark.parametrize(
    ("script", "reward", "problem"),
    [
        ("echo 0.25 > /logs/verifier/reward.txt", 0.25, ""),
        ("""echo '{"reward": 1}' > /logs/verifier/reward.json; exit 3""", 1.0, ""),
        ("echo 7 > /logs/verifier/reward.txt", 0.0, "no number from 0 to 1"),
        ("test -e /logs/verifier/reward.txt", 0.0, "wrote no reward"),
        ("ln -s /etc/passwd /logs/verifier/reward.txt", 0.0, "wrote no reward"),
    ],
)
def test_tests_may_write_a_reward_as_harbors_do(tmp_path: Path, script: str, reward: float, problem: str) -> None:
    (made(tmp_path) / "tests" / "test.sh").write_text(script)
    _, told = played(tmp_path, "true")
    assert (told.reward, problem in told.error) == (reward, True), told.output


def test_tests_that_hang_pay_nothing_and_say_so(tmp_path: Path) -> None:
    task = made(tmp_path)
    (task / "task.toml").write_text("[variables]\nname = ['x']\n[verifier]\ntimeout_sec = 0.5\n")
    (task / "tests" / "test.sh").write_text("echo begun; sleep 60")
    _, told = played(tmp_path, "true")
    assert (told.reward, told.output, told.done) == (0.0, "begun\n", True)
    assert "longer than 0.5 s" in told.error


def test_a_set_up_that_fails_fails_the_reset(tmp_path: Path) -> None:
    task = made(tmp_path)
    (task / "environment").mkdir()
    (task / "environment" / "setup.sh").write_text("echo cannot do; exit 4")
    with pytest.raises(RuntimeError, match=r"a-task.*\(4\): cannot do"):
        played(tmp_path, "true")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("task.toml", "[", "is no TOML"),
        ("task.toml", "metadata = 1", r"\[metadata\] is a table"),
        ("task.toml", "[metadata]\nsplit = 3\n[variables]\nname = ['x']", "split is a name"),
        ("task.toml", "[verifier]\ntimeout_sec = 9999\n[variables]\nname = ['x']", "timeout_sec"),
        ("task.toml", "[variables]\nname = []", "variable 'name' is a list"),
        ("task.toml", "[variables]\nName = ['x']", "'Name' must be named"),
        ("task.toml", "", "{{name}}, which is no variable"),
        ("task.toml", "[variable]\nname = ['x']", "'variable'. Did you mean 'variables'"),
        ("task.toml", "[verifier]\ntimeout = 3\n[variables]\nname = ['x']", "'timeout'. Did you mean 'timeout_sec'"),
        ("instruction.md", " \n", "is empty"),
        ("environment/Dockerfile", "FROM x", "no image is built here"),
        ("task.toml", "[variables]\nname = {minimum = 3, maximum = 2}", "variable 'name'"),
    ],
)
def test_a_task_that_cannot_be_names_what_is_wrong(tmp_path: Path, name: str, text: str, told: str) -> None:
    task = made(tmp_path)
    (task / name).parent.mkdir(exist_ok=True)
    (task / name).write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        read_task(task)


def test_a_task_has_tests_and_no_links(tmp_path: Path) -> None:
    task = made(tmp_path)
    (task / "tests" / "more").symlink_to("/etc/passwd")
    with pytest.raises(ConfigurationError, match="symbolic link"):
        read_task(task)
    shutil.rmtree(task / "tests")
    with pytest.raises(ConfigurationError, match=r"neither test.sh nor test_\*.py"):
        read_task(task)
    (tmp_path / "none").mkdir()
    (task / "tests" / "agent").mkdir(parents=True)
    (task / "tests" / "test.sh").write_text("true")
    (task / "tests" / "agent" / "more.sh").write_text("true")
    with pytest.raises(ConfigurationError, match=r"has no run\.sh"):
        read_task(task)
    with pytest.raises(ConfigurationError, match="has no tasks"):
        read_tasks(task.parent / "none")


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"TERMINAL_GIT_SANDBOX": "bubblewarp"}, "Did you mean 'bubblewrap'"),
        ({"TERMINAL_GIT_COMMAND_TIMEOUT": "soon"}, "TERMINAL_GIT_COMMAND_TIMEOUT='soon'"),
        ({"TERMINAL_GIT_OUTPUT_LIMIT": "1"}, "from 256 to 1048576"),
    ],
)
def test_a_setting_that_cannot_be_is_named(environ: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Settings.from_environ(environ)


def test_settings_come_as_text_and_as_json(tmp_path: Path) -> None:
    assert Settings.from_environ({}) == Settings(tasks=BUNDLED_TASKS)
    for quote in ("", '"'):
        environ = {"TERMINAL_GIT_SANDBOX": f"{quote}rlimits{quote}", "TERMINAL_GIT_TASKS": f"{quote}{tmp_path}{quote}"}
        assert Settings.from_environ(environ) == Settings(sandbox="rlimits", tasks=tmp_path)


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_under_root_every_session_is_somebody_else() -> None:
    one, other = Owner.new(), Owner.new()
    assert (one.user is not None) == (os.geteuid() == 0)
    assert one.user is None or one.user != other.user


def test_the_servers_memory_is_hidden_from_an_agent_of_the_same_user() -> None:
    program = "from terminal_git_env.confining import chosen; import ctypes, sys; chosen(sys.argv[1]); "
    program += "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    asked = [sys.executable, "-c", program, "rlimits"]
    path = os.pathsep.join(sys.path)
    told = subprocess.run(asked, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    assert told.stdout == "0\n"


IN_A_CONTAINER = """
import os, time
from pathlib import Path
from terminal_git_env.confining import Rlimits
from terminal_git_env.places import PATH, Owner, Session
from terminal_git_env.sandbox import AGENT, run

session = Session.new(Owner(None))
program = "env -i setsid sh -c 'sleep 500 & sleep 500' >/dev/null 2>&1 & (true &); sleep 0.3"
finished = run(Rlimits(), session, AGENT, ["sh", "-c", program], {"PATH": PATH}, seconds=20, limit=100)
session.remove()
print(os.getpid(), finished.exit_code, [path.name for path in Path("/proc").glob("[0-9]*") if path.name != "1"])
"""


def test_a_process_that_took_its_mark_off_ends_with_the_session_in_a_container() -> None:
    asked = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", IN_A_CONTAINER]
    path = os.pathsep.join(sys.path)
    told = subprocess.run(asked, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    if "unshare failed" in told.stderr:
        pytest.skip(told.stderr)
    assert (told.stdout, told.stderr) == ("1 0 []\n", "")
