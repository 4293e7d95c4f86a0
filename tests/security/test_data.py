"""Attacks by what is sent: things that would be executed, allocated or told, each by its name."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from openenv_gym_protocol.vector.array_data import ARRAY_CODE
from openenv_gym_protocol.vector.frames import UNREADABLE, Refused

from tests.support.http import http_client
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sockets import frame_socket
from tests.support.vector_client import vector_socket

SECRET = "a-secret-of-the-test"
SHIPPED = ("openenv_gym", "protocol", "server", "registry", "cli", "envs")
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "joblib"}
UNSAFE_CALLS = {"eval", "exec", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "np.load", "numpy.load", "os.system"}
CONFINED = Path("envs/coding/coding_env/inside/interpreter.py")
"""Executing text is what this program is for: it runs in the sandbox only, and no server imports it."""
PROJECT = ROOT / "envs" / "gymnasium"


class Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.misbehaving:app") as server:
        yield server


def sources() -> list[Path]:
    """What is shipped, but for projects' own tests, which stay out of the wheel."""
    return [path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py") if "tests" not in path.parts]


def unsafe_uses(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] in UNSAFE_MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in UNSAFE_MODULES:
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in UNSAFE_CALLS:
            yield ast.unparse(node.func)
        elif isinstance(node, ast.keyword) and node.arg == "shell" and ast.unparse(node.value) != "False":
            yield "shell=True"


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_stable_baselines3_1831_nothing_that_is_shipped_reads_pickles_or_evaluates_text() -> None:
    assert len(sources()) > 200
    found = {path.relative_to(ROOT): set(used) for path in sources() if (used := list(unsafe_uses(path)))}
    assert found == {CONFINED: {"exec"}}


def test_what_executes_text_is_imported_by_nothing_that_is_shipped() -> None:
    program = f"{CONFINED.parent.name}.{CONFINED.stem}"
    assert [path for path in sources() if any(program in name for name in imported(path))] == []


def test_stable_baselines3_1831_a_pickle_is_no_frame_and_no_body(server: RunningServer, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    bomb = pickle.dumps(Bomb(mark))
    with frame_socket(server.ws_url) as connection:
        connection.reset()
        assert connection.ask(bomb)["type"] == "error"
        assert connection.step(do="answer")["done"] is False
    with vector_socket(server.ws_url) as lanes:
        lanes.open(1)
        lanes.send_raw(bomb)
        assert isinstance(lanes.receive(UNREADABLE), Refused)
        extension = msgspec.msgpack.Ext(7, bomb)
        lanes.send_raw(msgspec.msgpack.encode({"op": "step", "id": 90, "lanes": [0], "actions": extension}))
        assert isinstance(lanes.receive(90), Refused)
    with http_client(server) as client:
        for path in ("/reset", "/step", "/mcp"):
            answer = client.post(path, content=bomb, headers={"Content-Type": "application/x-pickle"})
            assert answer.status_code in (200, 400, 415, 422)
            assert path == "/mcp" or answer.status_code == 422
    pickle.loads(bomb)  # it would have gone off
    assert mark.exists()


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("object", [1]),
        ("O", [1]),
        ("<U4", [1]),
        ("void", [1]),
        ("float64", [2**40]),
        ("uint8", [2**31, 2**31, 2**31]),
        ("uint8", [-1]),
        ("uint8", [0, 2**40]),
        ("float32", [3]),
    ],
)
def test_an_array_that_lies_is_refused_before_anything_is_allocated(
    server: RunningServer, dtype: str, shape: list[int]
) -> None:
    before = psutil.Process(server.pid).memory_info().rss
    array = msgspec.msgpack.Ext(ARRAY_CODE, msgspec.msgpack.encode([dtype, shape, b"\0\0\0\0"]))
    with vector_socket(server.ws_url) as lanes:
        (lane,) = lanes.open(1)
        lanes.reset([lane])
        step = {"op": "step", "id": 90, "lanes": [lane], "actions": {"values": [{"number": array}]}}
        lanes.send_raw(msgspec.msgpack.encode(step))
        reply = lanes.receive(90)
        assert isinstance(reply, Refused), reply
        assert reply.failure.failure == "protocol"
        assert lanes.step([lane], [{"do": "answer"}]).values[lane]["text"] == ""
    assert psutil.Process(server.pid).memory_info().rss - before < 50_000_000


def test_a_frame_of_the_vector_wire_that_is_deeply_nested_is_refused(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as lanes:
        (lane,) = lanes.open(1)
        lanes.send_raw(b"\x91" * 200_000 + b"\xc0")
        assert isinstance(lanes.receive(UNREADABLE), Refused)
        lanes.reset([lane])


def tells_nothing(text: str) -> bool:
    return not [sign for sign in ("Traceback", str(ROOT), "site-packages", 'File "', SECRET) if sign in text]


@pytest.mark.parametrize("mode", ["simulation", "production"])
def test_leaking_errors_no_answer_has_a_traceback_a_path_or_a_secret(mode: str) -> None:
    settings = {"OPENENV_MODE": mode, "OPENENV_GYM_TOKEN": SECRET, "TEST_SECRET": SECRET}
    token = {"X-OpenEnv-Token": SECRET}
    with (
        running_server("tests.support.apps.misbehaving:app", env=settings) as server,
        http_client(server, **token) as client,
        frame_socket(server.ws_url, additional_headers=token) as connection,
    ):
        answers = [
            client.request(method, path) for method in ("GET", "POST") for path in ("/no", "/step", "/mcp", "/ws")
        ]
        answers += [client.post("/step", json={"action": {"do": do}}) for do in ("raise", "unknown", "nan_reward")]
        answers += [client.post("/step", content=b"\xff\xfe"), client.post("/reset", json={"seed": "x"})]
        texts = [answer.text for answer in answers] + [str(answer.headers) for answer in answers]
        faults = ("raise", "assert", "exit", "none", "object", "surrogate")
        steps = [{"type": "step", "data": {"do": do}} for do in faults]
        texts += [str(connection.ask(ask)) for ask in ({"type": "reset"}, *steps, {"type": "no"}, "no json", b"\xff")]
    assert [text for text in texts if not tells_nothing(text)] == []


def test_leaking_errors_production_keeps_the_text_of_an_exception_to_itself() -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "fail", "arguments": {}}, "id": 1}
    env = {"OPENENV_MODE": "production"}
    with running_server("tests.support.apps.tools:app", env=env) as server, http_client(server) as client:
        answer = client.post("/mcp", json=call).text
    assert tells_nothing(answer)


@pytest.mark.parametrize("key", ["env_id", "id", "entry_point", "module", "kwargs", "render_mode"])
def test_swe_rex_class_paths_a_client_cannot_name_what_the_gymnasium_server_imports(
    tmp_path_factory: pytest.TempPathFactory, gymnasium_server: RunningServer, key: str
) -> None:
    for value in ("os:system", "antigravity:Env-v0", "CartPole-v1", {"__import__": "os"}):
        with frame_socket(gymnasium_server.ws_url) as connection:
            connection.ask({"type": "reset", "data": {key: value}})
            assert connection.ask({"type": "reset"})["type"] == "observation"
            assert connection.ask({"type": "state"})["data"]["env_id"] == "FrozenLake-v1"
    assert "antigravity" not in gymnasium_server.log().replace(repr(key), "")


def test_a_keyword_of_the_gymnasium_server_is_checked_before_anything_is_built(gymnasium_server: RunningServer) -> None:
    with frame_socket(gymnasium_server.ws_url) as connection:
        assert connection.ask({"type": "reset", "data": {"is_slippery": False}})["type"] == "observation"
        told = connection.ask({"type": "reset", "data": {"is_slippery": "__import__('os')"}})
        assert (told["type"], told["data"]["code"]) == ("error", "VALIDATION_ERROR")
        assert connection.ask({"type": "state"})["data"]["keywords"]["is_slippery"] is False


@pytest.fixture(scope="module")
def gymnasium_server() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=PROJECT, env={"GYMNASIUM_ENV_ID": "FrozenLake-v1"}) as server:
        yield server
