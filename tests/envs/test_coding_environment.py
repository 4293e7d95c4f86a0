"""Code in sandboxes through real servers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import gymnasium
import psutil
import pytest
from coding_env import CodeAction, CodingEnv
from gymnasium.utils.env_checker import check_env
from openenv_gym_registry.projects import bundled_project

import openenv_gym
from openenv_gym import errors
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.pools import all_end
from tests.support.servers import RunningServer, running_server

TRANSPOSE = "def transpose(rows): return [list(column) for column in zip(*rows)]"
SETTINGS = {"CODING_STEP_SECONDS": "30", "CODING_MEMORY_MB": "192", "A_SECRET_OF_THE_SERVERS": "hidden-from-code"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=bundled_project("coding"), env=SETTINGS) as server:
        yield server


def test_gymnasium_plays_it(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=1, options={"task": "transpose"})
    assert observation["stdout"].startswith("Write a function transpose(rows)")
    assert (info["task"], info["tests_total"]) == ("transpose", 4)
    observation, reward, terminated, truncated, info = env.step("print(1 / 0)")
    assert observation in env.observation_space
    assert observation["exit_code"] == 1
    assert observation["stderr"].endswith("ZeroDivisionError: division by zero\n")
    assert (reward, terminated, truncated, info["restarted"]) == (0.0, False, False, False)
    partly = env.step("def transpose(rows): return [list(column) for column in zip(*rows)] if len(rows) > 1 else []")
    assert (partly[1], partly[2], partly[4]["tests_passed"]) == (0.75, False, 3)
    assert env.step(TRANSPOSE)[1:4] == (1.0, True, False)
    env.close()


@pytest.mark.parametrize(
    ("wire", "mode"),
    [("vector", "NextStep"), ("vector", "SameStep"), ("standard", "NextStep"), ("standard", "Disabled")],
)
def test_four_lanes_have_four_interpreters(server: RunningServer, wire: Any, mode: str) -> None:
    envs = RemoteVectorEnv(
        server.base_url, num_envs=4, wire=wire, autoreset_mode=mode, reset_options={"split": "train", "index": 6}
    )
    envs.reset(seed=3)
    assert not envs.step(tuple(f"x = {lane}" for lane in range(4)))[2].any()
    seen = envs.step(("print(x)",) * 4)[0]
    assert tuple(seen["stdout"]) == tuple(f"{lane}\n" for lane in range(4))
    _, rewards, terminations, truncations, _ = envs.step((TRANSPOSE, "1", TRANSPOSE, "1"))
    assert (rewards.tolist(), terminations.tolist()) == ([1.0, 0.0, 1.0, 0.0], [True, False, True, False])
    assert not truncations.any()
    envs.close()


def test_seeds_fix_what_is_random(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    drawn = []
    for seed in (1, 2, 1):
        env.reset(seed=seed)
        drawn.append(env.step("import random; print(random.random())")[0]["stdout"])
    assert drawn[0] == drawn[2] != drawn[1]
    env.close()


def test_a_client_runs_code_and_loses_it_and_goes_on(server: RunningServer) -> None:
    async def play() -> None:
        async with CodingEnv(base_url=server.base_url) as env:
            with pytest.raises(errors.ExecutionError, match="reset first"):
                await env.step(CodeAction(code="1"))
            with pytest.raises(errors.InvalidMessage, match="transpose"):
                await env.reset(task="transposed")
            with pytest.raises(errors.InvalidMessage):
                await env.reset(step_seconds=0)
            await env.reset(step_seconds=0.5)
            late = await env.step(CodeAction(code="while True: pass"))
            assert (late.observation.exit_code, late.reward, late.done) == (124, 0.0, False)
            assert late.observation.metadata["restarted"] is True
            await env.reset(step_seconds=30)
            ended = await env.step(CodeAction(code="import os; os._exit(7)"))
            assert (ended.observation.exit_code, "exit code 7" in ended.observation.stderr) == (7, True)
            assert (await env.step(CodeAction(code="print(6 * 7)"))).observation.stdout == "42\n"
            state = await env.state()
            assert (state.step_count, state.last_exit_code, state.restarts) == (2, 0, 1)

    asyncio.run(play())


def test_tests_of_the_trainers_own_are_run(server: RunningServer) -> None:
    with CodingEnv(base_url=server.base_url).sync() as env:
        env.reset(tests=["assert twice(2) == 4", "assert twice('a') == 'aa'"])
        assert env.step(CodeAction(code="def twice(n): return int(n) * 2")).reward == 0.5
        assert env.step(CodeAction(code="def twice(n): return n * 2")).done
        with pytest.raises(errors.InvalidMessage, match=r"tests\[0\] is no Python"):
            env.reset(tests=["assert ("])


def test_the_tasks_are_served_without_their_tests(server: RunningServer) -> None:
    env = CodingEnv(base_url=server.base_url).sync()
    assert [each["name"] for each in env.list_splits()] == ["train", "validation", "test"]
    assert env.num_tasks("train") == len(env.list_tasks("train")) == 8
    assert "assert" not in str(env.list_tasks("train"))
    env.close()


def test_code_finds_no_secret_of_the_server(server: RunningServer) -> None:
    secret = SETTINGS["A_SECRET_OF_THE_SERVERS"]
    code = (
        "import os\nfound = [str(os.environ)]\nfor entry in os.listdir('/proc'):\n"
        "  try: found.append(open(f'/proc/{entry}/environ').read())\n  except OSError: pass\n"
        f"print('{secret[:6]}' + '{secret[6:]}' in str(found))"
    )
    env = RemoteEnv(server.base_url)
    env.reset(seed=1)
    assert env.step(code)[0]["stdout"] == "False\n"
    env.close()


def test_whoever_kills_the_server_kills_its_code() -> None:
    with running_server("server.app:app", cwd=bundled_project("coding"), env=SETTINGS) as server:
        client = CodingEnv(base_url=server.base_url).sync()
        client.reset()
        client.step(CodeAction(code="import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)"))
        below = psutil.Process(server.pid).children(recursive=True)
        assert "sleep" in {process.name() for process in below}
        os.kill(server.pid, signal.SIGKILL)
        assert all_end(below)
        with pytest.raises(errors.OpenEnvGymError):
            client.step(CodeAction(code="1"))
        client.close()


def test_sessions_that_end_leave_no_process(server: RunningServer) -> None:
    with CodingEnv(base_url=server.base_url).sync() as env:
        env.reset(task="roman")
        env.step(CodeAction(code="import os, time\nif os.fork() == 0: time.sleep(1000)"))
        below = psutil.Process(server.pid).children(recursive=True)
        assert len(below) >= 2
    assert all_end(below)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "fly"}, "task= must be"),
        ({"index": -1}, "index= must be"),
        ({"step_seconds": 0}, "step_seconds= must be"),
        ({"tests": "assert f(1)"}, "tests= must be"),
        ({"sandbox": "none"}, "sandbox= must be"),
        ({"output_bytes": 1}, "output_bytes= must be"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], told: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=told):
        gymnasium.make(openenv_gym.register_local(bundled_project("coding")), **options)


def test_a_server_without_a_sandbox_does_not_start(tmp_path: Any) -> None:
    server = running_server("server.app:app", cwd=bundled_project("coding"), env={"PATH": str(tmp_path)})
    with pytest.raises(RuntimeError, match="bwrap not found"), server:
        pass
