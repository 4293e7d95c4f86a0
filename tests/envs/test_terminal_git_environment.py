"""The terminal through real servers: Gymnasium, lanes, clients, and what the shell can reach of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from openenv_gym_protocol.errors import EpisodeOver, InvalidAction, InvalidMessage, ServerStartError
from openenv_gym_registry.projects import bundled_project
from terminal_git_env import TerminalGitAction, TerminalGitEnv
from terminal_git_env.confining import chosen

import openenv_gym
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.servers import RunningServer, killed, running_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="The sandboxes are Linux's.")

SECRET = "no-program-inside-may-see-this"

SOLVE = """\
version=$(git ls-remote --tags origin); \
text=$(sed -n 's/.*message `\\(.*\\)` on.*/\\1/p' <<'X'
{instruction}
X
); \
version=${{text##* }}; git pull -q --rebase && echo "$version" > VERSION && git commit -qam "Release" && \
git tag -a "v$version" -m "$text" && git push -q origin main "v$version"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    env = {"SOME_SECRET": SECRET, "TERMINAL_GIT_COMMAND_TIMEOUT": "8"}
    with running_server("server.app:app", cwd=bundled_project("terminal_git"), env=env) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_the_module() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


@pytest.mark.parametrize("name", ["bubblewrap", "namespaces"])
def test_this_machine_confines_shells(name: str) -> None:
    # Not skipped: where this fails, every other test of the terminal does.
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; namespaces are what remains")
    assert chosen(name).separates


def test_an_episode_through_gymnasium_is_paid_by_its_tests() -> None:
    openenv_gym.register_local(str(bundled_project("terminal_git")))
    env = gymnasium.make("openenv/TerminalGit-v0", task="tag-release", command_timeout=30)
    observation, info = env.reset(seed=3)
    assert observation["task_id"] == "tag-release"
    assert (info["graded"], info["seed_applied"]) == (False, 1)
    seen, reward, terminated, truncated, _ = env.step(SOLVE.format(instruction=observation["instruction"]))
    assert (int(seen["exit_code"]), reward, terminated, truncated) == (0, 0.0, False, False), seen["output"]
    seen, reward, terminated, truncated, info = env.step("submit")
    assert (reward, terminated, truncated, info["graded"]) == (1.0, True, False, True), seen["output"]
    with pytest.raises(EpisodeOver):
        env.step("ls")
    env.close()


def test_the_last_step_is_judged_and_told_as_cut_off(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url, task="write-report", max_steps=2)
    env.reset(seed=1)
    assert env.step("true")[1:4] == (0.0, False, False)
    seen, reward, terminated, truncated, info = env.step("echo last")
    assert (reward, terminated, truncated, info["graded"]) == (0.0, False, True, True)
    assert seen["output"].startswith("last\n")
    env.close()


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_lanes_have_shells_of_their_own(server: RunningServer, wire: Any) -> None:
    envs = RemoteVectorEnv(
        server.base_url, num_envs=3, autoreset_mode="SameStep", wire=wire, task="write-report", max_steps=3
    )
    envs.reset(seed=4)
    envs.step(["touch zero", "touch one", "submit"])
    seen, *_ = envs.step(["ls", "ls", "ls"])
    files = [text.split() for text in seen["output"]]
    given = ["example.out", "example.txt"]
    assert files == [[*given, "zero"], [*given, "one"], given]
    _, _, _, truncated, infos = envs.step(["true", "true", "true"])
    np.testing.assert_array_equal(truncated, [True, True, False])
    np.testing.assert_array_equal(infos["graded"], [False] * 3)
    envs.close()


def test_the_async_client_plays_with_every_field(server: RunningServer) -> None:
    async def play() -> None:
        async with TerminalGitEnv(base_url=server.base_url) as client:
            assert [split["name"] for split in await client.list_splits()] == ["test", "train"]
            named = [task["task_id"] for task in await client.list_tasks("test")]
            assert named == ["recover-file", "split-commit"]
            first = await client.reset(seed=1, split="test", index=1)
            assert first.observation.task_id == "split-commit"
            written = TerminalGitAction(command="", action_type="write_file", file_path="new", content="x")
            assert (await client.step(written)).observation.success
            assert (await client.step(TerminalGitAction(command="cat new"))).observation.output == "x"
            slow = await client.step(TerminalGitAction(command="echo begun; sleep 60"))
            assert (slow.observation.exit_code, slow.observation.metadata["timed_out"]) == (124, True)
            assert slow.observation.output.startswith("begun\n")
            over = await client.step(TerminalGitAction(command="", action_type="submit"))
            assert (over.done, over.reward) == (True, 0.0)
            state = await client.state()
            assert (state.task_id, state.submitted, state.step_count) == ("split-commit", True, 4)

    asyncio.run(play())


def test_what_is_wrong_is_an_error_that_names_it(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    for options, told in (
        ({"task": "tag-relese"}, "Did you mean 'tag-release'"),
        ({"split": "test", "index": 2}, "There is no task 2"),
        ({"index": 0}, "name split="),
        ({"task": "tag-release", "split": "test"}, "is named"),
    ):
        with pytest.raises(InvalidMessage, match=told):
            env.reset(options=options)
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="command"):
        env.step(7)
    env.close()


def test_the_shell_reaches_nothing_of_the_server(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url, task="write-report", max_steps=50)
    env.reset(seed=1)

    def output(command: str) -> str:
        return str(env.step(command)[0]["output"])

    assert SECRET not in output("env; cat /proc/*/environ; grep -r SECRET /etc /run 2>/dev/null")
    port = server.base_url.rpartition(":")[2]
    assert "refused" in output(f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert "No such process" in output(
        f"ls -d /root {bundled_project('terminal_git')} 2>/dev/null; kill -9 {server.pid}"
    )
    assert output("git config --global --list | grep -i token; git config --list --show-origin | grep -c /etc") == "0\n"
    assert output("ls -A /given /run/secret /logs 2>/dev/null") == ""
    env.close()


def test_the_tests_are_out_of_the_agents_reach(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url, task="write-report", max_steps=50)
    env.reset(seed=1)
    cheats = (
        "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo exit 0 > /given/test.sh",
        "printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/*",
        "git config core.fsmonitor true; git config --global alias.clone '!true'; git config core.hooksPath .",
        "(while :; do cp /bin/true /given/test.sh; sleep 0.01; done >/dev/null 2>&1 &)",
        "echo 'kill -9 $PPID; exit 0' > report.sh; git add -A; git commit -qm cheat",
    )
    for cheat in cheats:
        env.step(cheat)
    seen, reward, *_ = env.step("submit")
    assert reward == 0.0, seen["output"]
    env.close()


def test_no_process_or_folder_outlives_a_killed_server(tmp_path: Path) -> None:
    mark = f"32{os.getpid() % 10_000:04d}"
    env = {"TMPDIR": str(tmp_path)}
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    project = bundled_project("terminal_git")
    with running_server("server.app:app", cwd=project, env=env) as first, killed(first):
        client = RemoteEnv(first.base_url, task="write-report")
        client.reset(seed=1)
        client.step(f"setsid sleep {mark} >/dev/null 2>&1 &")
        assert len(_awaited(mark)) == 1
        os.kill(first.pid, signal.SIGKILL)
        give_up = time.monotonic() + 20
        while _asleep(mark) and time.monotonic() < give_up:
            time.sleep(0.02)  # the kernel ends them when it gets to it
        assert _asleep(mark) == []
    [left] = tmp_path.glob("terminal-git-*")
    assert len(list(left.glob("session-*"))) == 1
    with running_server("server.app:app", cwd=project, env=env):
        assert not left.exists()


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"tasks": "/nowhere/at/all"}, "is no folder"),
        ({"settings": {"TERMINAL_GIT_SANDBOX": "bubblewarp"}}, "Did you mean 'bubblewrap'"),
        ({"settings": {"TERMINAL_GIT_COMMAND_TIMEOUT": "0"}}, "TERMINAL_GIT_COMMAND_TIMEOUT='0'"),
    ],
)
def test_a_server_that_cannot_be_says_why(keywords: dict[str, Any], told: str) -> None:
    openenv_gym.register_local(str(bundled_project("terminal_git")))
    with pytest.raises(ServerStartError, match=told):
        gymnasium.make("openenv/TerminalGit-v0", **keywords).reset()


def _awaited(seconds: str) -> list[int]:
    """The same, once there are some."""
    give_up = time.monotonic() + 20
    while not (found := _asleep(seconds)) and time.monotonic() < give_up:
        time.sleep(0.05)
    return found


def _asleep(seconds: str) -> list[int]:
    """The living processes that sleep so long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_no_folder_stays_when_the_last_session_has_ended(tmp_path: Path) -> None:
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    with running_server("server.app:app", cwd=bundled_project("terminal_git"), env={"TMPDIR": str(tmp_path)}) as server:
        first, second = (RemoteEnv(server.base_url, task="tag-release") for _ in range(2))
        first.reset(seed=1)
        second.reset(seed=1)
        first.close()
        assert second.step("git status")[0]["exit_code"] == 0
        second.close()
        give_up = time.monotonic() + 20
        while (left := list(tmp_path.glob("terminal-git-*"))) and time.monotonic() < give_up:
            time.sleep(0.05)
    assert left == []
