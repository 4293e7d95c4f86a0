"""What happens in a session besides the shell: its set-up, its files and its tests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from terminal_git_env.places import PATH, USER, Session
from terminal_git_env.sandbox import AGENT, Access, Finished, Sandbox, run
from terminal_git_env.tasks import AGENT_TESTS, Files, Task

_SETUP_SECONDS = 60.0
_FILE_SECONDS = 10.0
_LARGEST_FILE = 1_048_576

_GITCONFIG = """\
[user]
    name = Agent
    email = agent@example.com
[init]
    defaultBranch = main
[core]
    pager = cat
    fsync = none
[gc]
    auto = 0
[maintenance]
    auto = false
[advice]
    detachedHead = false
"""

# Of what the agent may have written into a repository's own settings, what would run its programs in the tests' git.
_SAFE_GIT = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "core.pager": "cat", "diff.external": ""}

_BEGIN = """\
set -e
commit() {
    EPOCH=$((EPOCH + 3600))
    git add -A
    GIT_AUTHOR_DATE="@$EPOCH +0000" GIT_COMMITTER_DATE="@$EPOCH +0000" git commit -q --allow-empty -m "$1"
}
export -f commit
git init -q --bare "$ORIGIN"
git init -q "$WORK"
cd "$WORK"
git remote add origin "$ORIGIN"
if test -f "$GIVEN/setup.sh"; then
    exec bash "$GIVEN/setup.sh"
fi
cp -R "$GIVEN/." .
commit "Start"
git push -q -u origin HEAD
"""

_PYTHON_TESTS = Path(__file__).with_name("python_tests.py")


@dataclass(frozen=True)
class Verdict:
    """What the tests say.

    Attributes:
        reward: From 0 to 1.
        output: What they printed.
        problem: Why there is no better answer, where the tests themselves are at fault.
    """

    reward: float
    output: str
    problem: str = ""


@dataclass(frozen=True)
class Desk:
    """One session's folders with all that programs in it need to know.

    Attributes:
        sandbox: What confines them.
        session: Whose they are.
        task: What is played.
        values: What the seed chose for it.
        now: The time that git sees when the episode begins, in seconds since 1970.
        kept: What the set-up left for the tests; in memory, where the agent does not see it in any sandbox.
    """

    sandbox: Sandbox
    session: Session
    task: Task
    values: Mapping[str, str]
    now: int
    kept: Files = field(default_factory=dict)

    def dates(self, step: int) -> str:
        """What git takes for the present time: a minute a step."""
        return f"@{self.now + 60 * step} +0000"

    def env(self) -> dict[str, str]:
        """The environment of the agent's programs. Nothing of the server's is in it."""
        inside = self.sandbox.inside(self.session)
        plain = {"PATH": PATH, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "SHELL": "/bin/bash"}
        who = {"HOME": str(inside.home), "USER": "agent", "LOGNAME": "agent", "TMPDIR": str(inside.tmp)}
        git = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat", "PAGER": "cat", "MANPAGER": "cat"}
        return {**plain, **who, **git, "GIT_AUTHOR_DATE": self.dates(0), "GIT_COMMITTER_DATE": self.dates(0)}

    def set_up(self) -> None:
        """Makes the work tree and its origin.

        Raises:
            RuntimeError: The task's set-up failed; the message has what it printed.
        """
        self._write_control()
        own = self.session.outside.home / ".gitconfig"
        own.write_text(_GITCONFIG, encoding="utf-8")
        self.session.give(own, 0o644)
        self.session.put(self.task.environment)
        env = {**self._task_env(), "EPOCH": str(self.now - 86_400 * 30)}
        access = Access(is_setup=True, sees_given=True, sees_secret=True)
        done = self._run(["bash", "-c", _BEGIN], access, env, seconds=_SETUP_SECONDS)
        self.session.put({})
        self.kept.update(self.session.take_secret())
        if done.exit_code:
            raise RuntimeError(
                f"The set-up of the task {self.task.name!r} failed ({done.exit_code}): {done.output.text().strip()}"
            )

    def read_file(self, path: str, folder: str) -> Finished:
        """Reads a file as the agent would."""
        return self._run(["sh", "-c", 'cd "$0" && cat -- "$1"', folder, path], AGENT, self.env(), seconds=_FILE_SECONDS)

    def write_file(self, path: str, folder: str, content: str) -> Finished:
        """Writes a file as the agent would, with the folders that it is in."""
        script = 'cd "$0" && mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
        given = content.encode("utf-8", "replace")
        return self._run(["sh", "-c", script, folder, path], AGENT, self.env(), seconds=_FILE_SECONDS, given=given)

    def judge(self) -> Verdict:
        """Runs the tests, in a process of their own, on what the agent left; its own processes have to be gone.

        Raises:
            SandboxFailed: They could not be started.
        """
        inside = self.sandbox.inside(self.session)
        self._write_control()
        env = {**self._task_env(), "GIT_CONFIG_GLOBAL": str(inside.control / "gitconfig"), **_config_env()}
        tests = {**self.task.tests, **self._agents_output(env)}
        in_shell = "test.sh" in tests
        self.session.put(tests if in_shell else {**tests, "run.py": _PYTHON_TESTS.read_bytes()})
        self.session.put(self.kept, self.session.outside.secret)
        program = (
            ["bash", str(inside.given / "test.sh")] if in_shell else ["python3", "-I", str(inside.given / "run.py")]
        )
        self._renew_writable()
        access = Access(sees_given=True, sees_secret=True, writes_logs=self.task.has_reward_file)
        done = self._run(program, access, env, seconds=self.task.test_seconds)
        output = done.output.text()
        if done.timed_out:
            return Verdict(0.0, output, f"The tests took longer than {self.task.test_seconds:g} s.")
        if self.task.has_reward_file:
            reward, problem = _written_reward(self.session.outside.logs / "verifier")
            return Verdict(reward, output, problem)
        return Verdict(float(done.exit_code == 0), output)

    def _agents_output(self, env: Mapping[str, str]) -> Files:
        """What the agent's own programs print, as a file of the tests; none where those run none of these.

        They run where neither the tests nor the secret can be seen, and are gone when the tests begin.
        """
        files = {name: content for name, content in self.task.tests.items() if name.startswith(AGENT_TESTS)}
        if not files:
            return {}
        self.session.put(files)
        self._renew_writable()
        program = ["bash", str(self.sandbox.inside(self.session).given / AGENT_TESTS / "run.sh")]
        done = self._run(program, Access(sees_given=True), env, seconds=self.task.test_seconds)
        return {f"{AGENT_TESTS}output": done.output.kept()}

    def _renew_writable(self) -> None:
        """Clears where tests write: what the agent left there could make one of their files into another."""
        session = self.session
        session.renew(session.outside.tmp)
        session.give(session.outside.tmp)
        session.renew(session.outside.logs)
        (session.outside.logs / "verifier").mkdir()
        session.give(session.outside.logs / "verifier")

    def _write_control(self) -> None:
        user = USER if self.sandbox.separates else self.session.owner.user
        home = self.sandbox.inside(self.session).home
        self.session.tell("passwd", f"agent:x:{user}:{user}:Agent:{home}:/bin/bash\n")
        self.session.tell("group", f"agent:x:{user}:\n")
        self.session.tell("gitconfig", _GITCONFIG)

    def _task_env(self) -> dict[str, str]:
        inside = self.sandbox.inside(self.session)
        places = {"WORK": inside.work, "ORIGIN": inside.origin, "GIVEN": inside.given, "SECRET": inside.secret}
        chosen = {f"TASK_{name.upper()}": value for name, value in self.values.items()}
        return {**self.env(), **chosen, **{name: str(path) for name, path in places.items()}}

    def _run(
        self, argv: list[str], access: Access, env: Mapping[str, str], *, seconds: float, given: bytes = b""
    ) -> Finished:
        return run(self.sandbox, self.session, access, argv, env, seconds=seconds, limit=_LARGEST_FILE, given=given)


def _config_env() -> dict[str, str]:
    env = {"GIT_CONFIG_COUNT": str(len(_SAFE_GIT))}
    for number, (key, value) in enumerate(_SAFE_GIT.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _written_reward(folder: Path) -> tuple[float, str]:
    """The reward that tests wrote, as Harbor reads it, and what is wrong with it."""
    for name in ("reward.txt", "reward.json"):
        path = folder / name
        # Tests run what the agent wrote, which may have put a link to another file of this machine there.
        if not path.is_file() or path.is_symlink() or folder.is_symlink():
            continue
        with path.open(encoding="utf-8", errors="replace") as written:
            text = written.read(1000)
        try:
            read = json.loads(text)
            reward = float(read["reward"] if isinstance(read, dict) else read)
        except (ValueError, TypeError, KeyError):
            reward = math.nan
        if 0 <= reward <= 1:
            return reward, ""
        return 0.0, f"The tests wrote {text.strip()!r:.80} as their reward, which is no number from 0 to 1."
    return 0.0, "The tests wrote no reward."
