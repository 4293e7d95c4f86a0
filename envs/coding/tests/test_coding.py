"""The environment by itself, without a server."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from coding_env.environment import CodingEnvironment
from coding_env.grading import Grader, read_tests
from coding_env.inside import values
from coding_env.models import CodeAction, CodeObservation
from coding_env.processes import CUT
from coding_env.sandbox import Sandbox, make_sandbox
from coding_env.settings import Settings
from coding_env.tasks import SPLITS
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code is confined by Linux alone")

KINDS = ("bubblewrap", "namespaces", "rlimits")

SOLUTIONS = (Path(__file__).parent / "solutions.py").read_text("utf-8")


def python_for_all() -> str:
    """An interpreter that other users can reach, as those without a file system of their own need."""
    own = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if all(folder.stat().st_mode & 0o001 for folder in own.parents):
        return ""
    found = Path("/usr/bin/python3")
    if not found.exists():
        pytest.skip(f"no other user may run {own}, and there is no {found}")
    return str(found)


def sandbox_of(kind: Any, **limits: int) -> Sandbox:
    python = python_for_all() if kind == "rlimits" else ""
    given = {"memory_mb": 192, "processes": 12, "output_bytes": 1000, "file_mb": 2, **limits}
    try:
        return make_sandbox(Settings(sandbox=kind, python=python, **given))
    except ConfigurationError as error:
        pytest.skip(f"{error}")


@pytest.fixture(scope="module", params=KINDS)
def confined(request: pytest.FixtureRequest) -> Sandbox:
    """Each way there is, for what depends on it."""
    return sandbox_of(request.param)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    """The one that is taken here, for all else."""
    return sandbox_of("auto")


@pytest.fixture(scope="module")
def hostile(confined: Sandbox) -> Iterator[CodingEnvironment]:
    environment = CodingEnvironment(confined)
    environment.reset(seed=1, step_seconds=60)
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def shared(sandbox: Sandbox) -> Iterator[CodingEnvironment]:
    """One environment for tests that do not mind what was run before."""
    environment = CodingEnvironment(sandbox)
    environment.reset(seed=1, step_seconds=60)
    yield environment
    environment.close()


@pytest.fixture
def environment(sandbox: Sandbox) -> Iterator[CodingEnvironment]:
    environment = CodingEnvironment(sandbox)
    yield environment
    environment.close()


def run(environment: CodingEnvironment, code: str) -> CodeObservation:
    return environment.step(CodeAction(code=code))


@contextmanager
def all_end(environment: CodingEnvironment) -> Iterator[None]:
    """Closes the environment after the block: no process that it started is left then."""
    before = set(psutil.Process().children(recursive=True))
    yield
    started = set(psutil.Process().children(recursive=True)) - before
    assert started
    environment.close()
    assert_ended(list(started))


def assert_ended(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


def test_variables_stay_until_a_reset(environment: CodingEnvironment) -> None:
    first = environment.reset(seed=1)
    assert (first.stdout, first.stderr, first.exit_code, first.reward) == ("", "", 0, None)
    assert run(environment, "x = 41\ndef up(): return x + 1").exit_code == 0
    seen = run(environment, "import sys; print(up()); print('bad', file=sys.stderr)")
    assert (seen.stdout, seen.stderr, seen.exit_code, seen.reward, seen.done) == ("42\n", "bad\n", 0, 0.0, False)
    environment.reset(seed=1)
    assert "NameError" in run(environment, "x").stderr
    assert (environment.state.step_count, environment.state.last_exit_code) == (1, 1)


@pytest.mark.parametrize(
    ("code", "exit_code", "told"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit('bye')", 1, "bye\n"),
        ("1 / 0", 1, "<module>\n    1 / 0"),
        ("def f(:", 1, "SyntaxError"),
        ("\0", 1, "Error"),
        ("'\\ud800'.encode()", 1, "UnicodeEncodeError"),
        ("def f(): f()\nf()", 1, "RecursionError"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("class E(Exception):\n  def __str__(self): raise E\nraise E", 1, "E"),
        ("input()", 1, "EOFError"),
        ("x = bytearray(1 << 30)", 1, "MemoryError"),
        ("x = [bytes(1 << 20) for _ in range(500)]", 1, "MemoryError"),
        ("open('big', 'wb').write(bytes(3 << 20))", 1, "File too large"),
        ("files = [open('/dev/null') for _ in range(100)]", 1, "Too many open files"),
    ],
    ids=[
        "exit",
        "exit-0",
        "exit-text",
        "exception",
        "syntax",
        "nul",
        "surrogate",
        "recursion",
        "interrupt",
        "broken-exception",
        "input",
        "allocation",
        "memory",
        "file-size",
        "open-files",
    ],
)
def test_code_that_fails_is_told_and_the_interpreter_goes_on(
    shared: CodingEnvironment, code: str, exit_code: int, told: str
) -> None:
    run(shared, "kept = 1")
    seen = run(shared, code)
    assert (seen.exit_code, seen.metadata["restarted"]) == (exit_code, False)
    assert told in seen.stderr
    assert "inside" not in seen.stderr, "the traceback is the code's own"
    assert run(shared, "files = x = None; print(kept)").stdout == "1\n"


@pytest.mark.parametrize(
    ("code", "exit_code", "told"),
    [
        ("import os; os._exit(3)", 3, "with exit code 3"),
        ("import os; os._exit(0)", 0, "with exit code 0"),
        ("import ctypes; ctypes.string_at(0)", 139, "SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, "SIGTERM"),
        ("import os; os.closerange(0, 1000)", 125, "with exit code 125"),
        (
            "import os\nfor n in range(3, 60):\n  try: os.write(n, b'\\0\\0\\0\\2{}')\n  except OSError: pass",
            125,
            "control channel",
        ),
        (
            "import os\nfor number in range(3, 60):\n  try: os.write(number, b'\\x7f' * 100)\n  except OSError: pass",
            125,
            "control channel",
        ),
    ],
    ids=["exit-3", "exit-0", "segfault", "signal", "closed", "small-message", "large-message"],
)
def test_an_interpreter_that_is_lost_is_started_anew_and_that_is_told(
    hostile: CodingEnvironment, code: str, exit_code: int, told: str
) -> None:
    run(hostile, "kept = 1")
    seen = run(hostile, code)
    assert (seen.exit_code, seen.metadata["restarted"]) == (exit_code, True)
    assert told in seen.stderr
    assert seen.stderr.endswith("A new one was started: its variables, files and processes are gone.]\n")
    assert "NameError" in run(hostile, "kept").stderr


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import signal\nfor n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n"
        "  except (OSError, ValueError): pass\nwhile True: pass",
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        "while True: print('x' * 1000)",
        "import os\nwhile True: os.write(2, b'y' * 60000)",
        "import os\nfor n in range(3, 60):\n  try: os.set_blocking(n, True); os.read(n, 1)\n  except OSError: pass",
    ],
    ids=["loop", "signals-ignored", "forks", "stdout", "stderr", "reads-channel"],
)
def test_what_does_not_end_is_killed_with_all_that_it_started(confined: Sandbox, code: str) -> None:
    environment = CodingEnvironment(confined)
    with all_end(environment):
        environment.reset(seed=1, step_seconds=1.5)
        seen = run(
            environment, f"import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n{code}"
        )
        assert (seen.exit_code, seen.metadata["restarted"]) == (124, True)
        assert "ran for longer than 1.5 s" in seen.stderr
        assert len(seen.stdout) <= 1000 + len(CUT)
        assert len(seen.stderr) <= 1000 + 512
        assert (seen.metadata["stdout_cut"], seen.metadata["stderr_cut"]) == ("print" in code, "write(2" in code)
        _, alive = psutil.wait_procs(sleepers(), timeout=30)
        assert alive == [], "they ended with the interpreter, before the session did"


def sleepers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if each.name() == "sleep"]


def test_daemons_end_with_the_session(confined: Sandbox) -> None:
    environment = CodingEnvironment(confined)
    daemon = "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(1000)\n  os._exit(0)\nos.wait()"
    with all_end(environment):
        environment.reset(seed=1, step_seconds=60)
        assert run(environment, f"import os, time\n{daemon}").exit_code == 0
        sleeper = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True, env={})"
        assert run(environment, sleeper).exit_code == 0
        assert sleepers()


def test_a_forked_child_ends_with_its_block(shared: CodingEnvironment) -> None:
    seen = run(shared, "import os\nif os.fork(): os.wait(); print('parent')\nelse: print('child')")
    assert (seen.stdout, seen.metadata["restarted"]) == ("child\nparent\n", False)
    assert run(shared, "print('next')").stdout == "next\n"


def test_closed_and_replaced_streams_are_whole_again_in_the_next_block(shared: CodingEnvironment) -> None:
    run(shared, "import sys, os, io; sys.stdout.close(); os.close(2); sys.stderr = io.StringIO()")
    seen = run(shared, "print('out'); print('err', file=sys.stderr)")
    assert (seen.stdout, seen.stderr) == ("out\n", "err\n")


def test_output_of_other_processes_is_seen_and_bytes_that_are_no_text_too(shared: CodingEnvironment) -> None:
    seen = run(
        shared, "import subprocess, os; subprocess.run(['echo', 'hi']); os.write(1, b'\\xff\\n'); print('\\ud800é')"
    )
    assert seen.stdout == "hi\n\ufffd\n\\ud800é\n"


def test_output_is_cut_between_characters(shared: CodingEnvironment) -> None:
    seen = run(shared, "print('é' * 400 + 'a' + 'é' * 400)")
    assert seen.stdout == "é" * 400 + "a" + "é" * 99 + CUT
    assert run(shared, "print('é' * 10)").stdout == "é" * 10 + "\n"


def test_cpu_time_ends() -> None:
    environment = CodingEnvironment(sandbox_of("auto", cpu_seconds=1))
    environment.reset(step_seconds=60)
    seen = run(environment, "while True: pass")
    environment.close()
    assert (seen.exit_code, seen.metadata["restarted"]) == (137, True)
    assert "CPU" in seen.stderr


def test_nothing_of_the_server_is_reached(hostile: CodingEnvironment, confined: Sandbox) -> None:
    told = json.loads(run(hostile, "import os, json; print(json.dumps(dict(os.environ)))").stdout)
    assert {"PATH", "HOME", "LANG", "PYTHONHASHSEED"} <= set(told)
    assert not set(told) & {"USER", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_CURRENT_TEST", "SHELL"}
    assert "ModuleNotFoundError" in run(hostile, "import coding_env").stderr
    assert "Error" in run(hostile, f"open('/proc/{os.getpid()}/environ').read()").stderr
    if confined.kind != "rlimits":
        assert run(hostile, "print(len([each for each in os.listdir('/proc') if each.isdigit()]))").stdout == "2\n"
        assert "ProcessLookupError" in run(hostile, f"os.kill({os.getpid()}, 0)").stderr
        for path in (__file__, Path(__file__).parents[1] / "coding_env" / "tasks.py", "/etc/passwd", "/var", "/home"):
            assert "FileNotFoundError" in run(hostile, f"os.stat({str(path)!r})").stderr


def test_there_is_no_network_and_there_are_no_rights(hostile: CodingEnvironment) -> None:
    call = "import socket\ntry: socket.create_connection(('127.0.0.1', 80), 5)\nexcept OSError as e: print(e.errno)"
    assert run(hostile, call).stdout in (f"{errno.EPERM}\n", f"{errno.ENETUNREACH}\n", f"{errno.ECONNREFUSED}\n")
    assert run(hostile, "print([name for _, name in socket.if_nameindex() if name != 'lo'])").stdout in ("[]\n", "")
    rights = "print([line.split()[1] for line in open('/proc/self/status') if line[:4] in ('CapE', 'NoNe')])"
    assert run(hostile, rights).stdout == "['0000000000000000', '1']\n"
    assert run(hostile, "import os; print(os.getuid() == os.geteuid() != 0 or os.getpid() == 2)").stdout == "True\n"
    assert run(hostile, "import ctypes; lib = ctypes.CDLL(None); print(lib.unshare(0x10000000))").stdout == "-1\n"
    if os.uname().machine in ("x86_64", "aarch64"):
        calls = "print(lib.unshare(0x20000), lib.ptrace(16, 1, 0, 0), lib.memfd_create(b'x', 0), lib.shmget(0, 1, 512))"
        assert run(hostile, calls).stdout == "-1 -1 -1 -1\n"


@pytest.mark.parametrize("kind", ["bubblewrap", "namespaces"])
def test_the_system_is_read_only_and_the_own_folders_are_bounded(kind: Any) -> None:
    environment = CodingEnvironment(sandbox_of(kind))
    environment.reset(step_seconds=60)
    for folder in ("", "/usr", "/usr/lib", "/dev", "/etc", "/proc", str(Path(os.__file__).parent)):
        assert "Error" in run(environment, f"open('{folder}/written', 'w')").stderr
    for folder in ("/sandbox", "/tmp", "/dev/shm"):
        assert run(environment, f"import os; print(os.listdir('{folder}'))").stdout == "[]\n"
        fill = f"for n in range(4): open(f'{folder}/{{n}}', 'wb').write(bytes(1 << 20))"
        assert "No space left on device" in run(environment, fill).stderr
    environment.close()


@pytest.mark.parametrize(
    "code",
    [
        "for _ in range(2000): os.mkdir('deep'); os.chdir('deep')",
        "os.mkdir('shut'); open('shut/file', 'w').close(); os.chmod('shut', 0)",
    ],
    ids=["deep", "shut"],
)
def test_a_folder_is_removed_whatever_the_code_makes_of_it(confined: Sandbox, code: str) -> None:
    environment = CodingEnvironment(confined)
    environment.reset(step_seconds=60)
    folder = run(environment, "import os; print(os.getcwd(), end='')").stdout
    assert run(environment, code).stderr == ""
    environment.close()
    assert not Path(folder).exists()


def test_files_are_gone_after_a_reset(confined: Sandbox) -> None:
    environment = CodingEnvironment(confined)
    environment.reset(step_seconds=60)
    folder = run(environment, "import os; open('mine', 'w').write('x'); print(os.getcwd(), end='')").stdout
    assert run(environment, "print(os.listdir())").stdout == "['mine']\n"
    environment.reset(step_seconds=60)
    assert run(environment, "import os; print(os.listdir())").stdout == "[]\n"
    environment.close()
    assert not Path(folder).exists()


def test_the_same_seed_gives_the_same_random_numbers_and_the_next_follow(sandbox: Sandbox) -> None:
    def drawn(seed: int) -> list[str]:
        environment = CodingEnvironment(sandbox)
        code = "import random; print(random.random(), hash('text'), list({'a', 'b', 'c'}))"
        seen = []
        for at in range(2):
            environment.reset(seed=seed if at == 0 else None)
            seen.append(run(environment, code).stdout)
        environment.close()
        return seen

    one = drawn(1)
    assert one == drawn(1)
    assert len({*one, *drawn(2)}) == 4


def test_a_step_before_a_reset_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(RuntimeError, match="reset first"):
        run(CodingEnvironment(sandbox), "1")


def test_every_task_is_solved_by_its_solution_and_by_no_empty_function(sandbox: Sandbox) -> None:
    tasks = [task for tasks in SPLITS.values() for task in tasks]
    grader = Grader(sandbox, read_tests([test for task in tasks for test in task.tests]))
    total = sum(len(task.tests) for task in tasks)
    try:
        assert grader.passed(SOLUTIONS, 120) == total
        assert grader.passed("\n".join(f"def {task.name}(*_): pass" for task in tasks), 120) == 0
    finally:
        grader.close()


ADD = [
    "assert add(1, 2) == 3",
    "assert add(-1, 1) == 0",
    "assert add('a', 'b') == 'ab'",
    "assert raises(TypeError, add, 1, 'a')",
]


@pytest.mark.parametrize(
    ("code", "passed"),
    [
        ("def add(a, b): return a + b", 4),
        ("def add(a, b): return a + b if isinstance(b, int) else None", 2),
        ("def add(a, b): return abs(a + b) if a != 'a' else 1 / 0", 3),
        ("add = 3", 1),
        ("print('nothing')", 0),
        ("class Same(int):\n  __eq__ = lambda *_: True\ndef add(a, b): return Same(7)", 0),
        ("class Same:\n  __eq__ = lambda *_: True\ndef add(a, b): return Same()", 0),
        ("def add(a, b): raise SystemExit(0)", 0),
        ("import os\ndef add(a, b):\n  if a == -1: os._exit(0)\n  return a + b", 3),
        (
            "import os\ndef add(a, b):\n  for n in range(60):\n"
            "    try: os.write(n, b'{\"passed\": true}')\n    except OSError: pass",
            0,
        ),
        ("import builtins, sys\nbuiltins.AssertionError = sys.exit\ndef add(a, b): return None", 0),
    ],
    ids=[
        "right",
        "lax",
        "partly",
        "number",
        "nothing",
        "equal-int",
        "equal-object",
        "exits",
        "dies",
        "writes",
        "patches",
    ],
)
def test_the_reward_is_the_fraction_that_the_code_passes_and_cannot_be_forged(
    graded: CodingEnvironment, code: str, passed: int
) -> None:
    seen = run(graded, code)
    assert (seen.metadata["tests_passed"], seen.metadata["tests_total"]) == (passed, 4)
    assert (seen.reward, seen.done) == (passed / 4, passed == 4)


@pytest.fixture(scope="module")
def graded(sandbox: Sandbox) -> Iterator[CodingEnvironment]:
    environment = CodingEnvironment(sandbox)
    environment.reset(tests=ADD, step_seconds=60)
    yield environment
    environment.close()


def test_a_submission_has_to_be_whole_and_code_that_fails_is_not_tested(graded: CodingEnvironment) -> None:
    run(graded, "def helper(a, b): return a + b")
    assert run(graded, "def add(a, b): return helper(a, b)").reward == 0.0
    failed = run(graded, "def add(a, b): return a + b\n1 / 0")
    assert (failed.reward, failed.exit_code) == (0.0, 1)


def test_the_tested_code_does_not_meet_its_tests(graded: CodingEnvironment) -> None:
    spy = (
        "import gc, sys, os\ndef add(a, b):\n"
        "  seen, frame = [str(os.environ), str(gc.get_objects())], sys._getframe()\n"
        "  while frame: seen.append(str(frame.f_locals) + str(frame.f_globals)); frame = frame.f_back\n"
        "  return a + b if any('assert{}add'.format(' ') in each for each in seen) else None"
    )
    assert run(graded, spy).reward == 0.0


@pytest.mark.parametrize("error", ["StopIteration", "StopAsyncIteration", "type('Mine', (StopIteration,), {})"])
def test_the_end_of_an_iteration_is_not_taken_for_the_tests_own(sandbox: Sandbox, error: str) -> None:
    tests = [
        "assert all(map(f, [1, 2]))",
        "for value in map(f, [1]): assert value == 1",
        "assert not list(map(f, [1]))",
    ]
    grader = Grader(sandbox, read_tests(tests))
    try:
        assert grader.passed(f"def f(n): raise {error}", 60) == 0
    finally:
        grader.close()


def test_a_test_that_hangs_costs_itself_and_no_other(sandbox: Sandbox) -> None:
    grader = Grader(sandbox, read_tests(["assert f(0) == 0", "assert f(1) == 1", "assert f(2) == 2"]))
    try:
        assert grader.passed("def f(n):\n  while n == 1: pass\n  return n", 60) == 2
        assert grader.passed("def f(n): return n", 0.0) == 0
        assert grader.passed("while True: pass", 0.5) == 0
    finally:
        grader.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "romans"}, "one of roman"),
        ({"split": "test", "index": 3}, "index: test has the tasks 0 to 2"),
        ({"task": "roman", "split": "test"}, "exclude each other"),
        ({"tests": ["assert f("]}, r"tests\[0\] is no Python"),
        ({"tests": ["assert f(1)", "assert 1 == 1"]}, r"tests\[1\] calls no function"),
    ],
)
def test_options_that_cannot_be_are_refused_and_the_episode_goes_on(
    shared: CodingEnvironment, options: dict[str, Any], told: str
) -> None:
    run(shared, "kept = 2")
    with pytest.raises(InvalidAction, match=told):
        shared.reset(**options)
    assert run(shared, "print(kept)").stdout == "2\n"


def test_tasks_are_told_without_their_tests(environment: CodingEnvironment) -> None:
    assert {split: environment.num_tasks(split) for split in environment.list_splits()} == {
        "train": 8,
        "validation": 2,
        "test": 3,
    }
    told = environment.get_task("test", 0)
    assert set(told) == {"name", "text", "tests"}
    assert environment.list_tasks("test")[0] == told
    first = environment.reset(split="test", index=0)
    assert (first.stdout, first.metadata["task"]) == (told["text"], told["name"])


@pytest.mark.parametrize(
    "value",
    [None, True, 1, -(10**40), 1.5, "é\ud800", b"\xff", [1, [2]], (1, "a"), {1, 2}, frozenset({"x"}), {(1,): [None]}],
    ids=range(12),
)
def test_plain_values_arrive_as_they_are(value: Any) -> None:
    again = values.read(values.write(value))
    assert (again, type(again)) == (value, type(value))


@pytest.mark.parametrize("value", [object(), [object()], print, "x" * 600_000, 10**4999 // 9], ids=range(5))
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(values.NotPlain):
        values.write(value)


@pytest.mark.parametrize(
    "text", ["", "[]", '["x", 1]', '["b", "zz"]', '["d", [1]]', '["s", ["l"]]', "[" * 100_000], ids=range(7)
)
def test_texts_that_are_no_values_are_refused(text: str) -> None:
    with pytest.raises(values.NotPlain):
        values.read(text)


def test_settings_are_read_and_checked() -> None:
    assert Settings.from_environ({}) == Settings()
    read = Settings.from_environ({"CODING_SANDBOX": "rlimits", "CODING_MEMORY_MB": "100", "CODING_PYTHON": "/x"})
    assert read == Settings(sandbox="rlimits", memory_mb=100, python="/x")
    for name, value in (("SANDBOX", "none"), ("MEMORY_MB", "1"), ("OUTPUT_BYTES", "x"), ("STEP_SECONDS", "-1")):
        with pytest.raises(ConfigurationError, match=f"CODING_{name}"):
            Settings.from_environ({f"CODING_{name}": value})


def test_without_a_sandbox_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        ConfigurationError, match=r"bubblewrap: bwrap not found.*namespaces: setpriv.*CODING_SANDBOX=rlimits"
    ):
        make_sandbox(Settings())
    with pytest.raises(ConfigurationError, match="CODING_PYTHON='/nowhere/python' is no Python"):
        make_sandbox(Settings(python="/nowhere/python"))
