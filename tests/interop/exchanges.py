"""The exchanges that both servers are asked for: every message and every error of the standard wire.

Each is a connection or a request of its own. Where this project answers better on purpose, ``BETTER`` says how:
what openenv answers, and what is answered here. Anything else that differs fails the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def step(cmd: str, **fields: Any) -> dict[str, Any]:
    """A step frame of the probe."""
    return {"type": "step", "data": {"cmd": cmd, **fields}}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    """A frame with a JSON-RPC request."""
    return {"type": "mcp", "data": {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}}


RESET: dict[str, Any] = {"type": "reset"}
STATE = {"type": "state"}
CLOSE = {"type": "close"}

FRAMES: dict[str, list[Any]] = {
    # episodes
    "an episode": [
        {"type": "reset", "data": {"seed": 42, "episode_id": "e1"}},
        step("hi", n=3, payload={"a": [1, None, "x", 1.5, True]}),
        STATE,
        step("done"),
        STATE,
        CLOSE,
    ],
    "reset without data": [RESET],
    "reset with an empty object": [{"type": "reset", "data": {}}],
    "reset with options": [{"type": "reset", "data": {"level": "hard", "foo": 1, "bar": [2]}}],
    "reset with metadata": [{"type": "reset", "data": {"meta": 1}}, step("meta")],
    "reset with nulls": [{"type": "reset", "data": {"seed": None, "episode_id": None}}],
    "reset again": [{"type": "reset", "data": {"seed": 1}}, step("hi"), {"type": "reset", "data": {"seed": 2}}, STATE],
    "step before reset": [step("hi"), STATE],
    "step after done": [RESET, step("done"), step("hi"), STATE],
    "state before reset": [STATE],
    "close at once": [CLOSE],
    "extra keys in close": [{"type": "close", "data": {}}, STATE],
    "action metadata": [step("hi", metadata={"note": 1})],
    "a number as text": [step("hi", n="5")],
    # values
    "numbers": [step("numbers")],
    "text of all kinds": [step("text"), step('é "quoted" \u2028 \U0001f600 \\ \x00')],
    "integer reward": [step("reward int")],
    "boolean reward": [step("reward true")],
    "numpy reward": [step("reward numpy")],
    "reward NaN": [step("reward nan"), STATE],
    "infinite reward": [step("reward inf"), STATE],
    "not finite": [step("not finite")],
    "not finite from the client": ['{"type":"step","data":{"cmd":"hi","payload":[NaN,Infinity,-Infinity]}}'],
    "bytes": [step("bytes")],
    "bytes that are no text": [step("raw bytes"), STATE],
    "set": [step("set")],
    "tuple": [step("tuple")],
    "integer keys": [step("int keys")],
    "numpy array": [step("array"), STATE],
    "numpy scalar": [step("scalar"), STATE],
    "large payload": [step("hi", payload="x" * 300_000)],
    "nested payload": [step("hi", payload=[[[[[[[[[[{"a": [[[[[[[]]]]]]]}]]]]]]]]]])],
    "constructed, reset and stepped in one thread": [RESET, step("threads"), RESET, step("threads")],
    # failures of the environment: the session lives
    "exception": [RESET, step("raise"), STATE],
    "exception without a text": [RESET, step("raise empty"), STATE],
    "exception with a key": [RESET, step("raise key"), STATE],
    "no observation": [RESET, step("none"), STATE],
    "a dict as observation": [RESET, step("dict"), STATE],
    "a surrogate in an observation": [RESET, step("surrogate"), STATE],
    "a surrogate in an exception": [RESET, step("raise surrogate"), STATE],
    # wrong frames
    "broken JSON": ["{bad", STATE],
    "empty frame": ["", STATE],
    "unknown type": [{"type": "bogus"}, STATE],
    "no type": [{}, STATE],
    "type of a number": [{"type": 5}, STATE],
    "type of null": [{"type": None}, STATE],
    "array frame": [[1, 2], STATE],
    "text frame": ['"x"', STATE],
    "null frame": ["null", STATE],
    "number frame": ["5", STATE],
    "NaN frame": ["NaN", STATE],
    "binary frame": [b'{"type":"state"}', STATE],
    "step without data": [{"type": "step"}, STATE],
    "step with null": [{"type": "step", "data": None}, STATE],
    "step with an array": [{"type": "step", "data": [1]}, STATE],
    "reset with null": [{"type": "reset", "data": None}, STATE],
    "reset with an array": [{"type": "reset", "data": []}, STATE],
    "state with data": [{"type": "state", "data": {}}, STATE],
    "step options on top": [{"type": "step", "data": {"cmd": "hi"}, "timeout_s": 3}, STATE],
    "step options inside": [step("hi", timeout_s=3), STATE],
    "wrapped action": [{"type": "step", "data": {"action": {"cmd": "hi"}}}, STATE],
    "empty action": [{"type": "step", "data": {}}, STATE],
    "unknown field": [step("hi", extra=1), STATE],
    "short text": [step(""), STATE],
    "wrong type": [step("hi", n="x"), STATE],
    "two wrong fields": [step("", n=[]), STATE],
    "NaN where a number belongs": ['{"type":"step","data":{"cmd":"hi","n":NaN}}', STATE],
    "refused by a validator": [RESET, step("forbidden"), STATE],
    "seed of text": [{"type": "reset", "data": {"seed": "abc"}}, STATE],
    "negative seed": [{"type": "reset", "data": {"seed": -5}}, STATE],
    "seed of digits": [{"type": "reset", "data": {"seed": "7"}}],
    "surrogate from the client": ['{"type":"step","data":{"cmd":"\\ud800"}}', STATE],
    "deep frame": ['{"type":"step","data":{"cmd":"hi","payload":' + "[" * 5000 + "]" * 5000 + "}}", STATE],
    # JSON-RPC to an environment without tools
    "tools of an environment without any": [rpc("tools/list"), rpc("tools/call", name="echo"), STATE],
    "unknown JSON-RPC method": [rpc("initialize"), rpc("ping"), STATE],
    "wrong JSON-RPC": [{"type": "mcp", "data": {}}, {"type": "mcp", "data": {"jsonrpc": "2.0", "id": 1}}, STATE],
    "JSON-RPC without data": [{"type": "mcp"}, {"type": "mcp", "data": None}, STATE],
    "interpreter exit": [RESET, step("exit"), STATE],
}
"""What is sent to the probe, by the name of the exchange."""

PRODUCTION_FRAMES: dict[str, list[Any]] = {
    "control of an episode in production": [RESET, step("hi"), STATE],
    "wrong frames in production": ["{bad", {"type": "bogus"}, rpc("tools/list"), CLOSE],
}
"""What is sent to the probe in production mode."""

PLAIN_FRAMES: dict[str, list[Any]] = {
    "options it does not know": [{"type": "reset", "data": {"seed": 1, "level": "hard", "sed": 2, "episode_id": "x"}}],
    "an episode of a plain environment": [RESET, step("hi"), STATE, CLOSE],
}
"""What is sent to an environment whose reset and step take only what they name."""

BROKEN_FRAMES: dict[str, list[Any]] = {"a factory that fails": [RESET, RESET]}
"""What is sent to an environment that cannot be constructed."""

SCORED_FRAMES: dict[str, list[Any]] = {
    "an episode with a rubric": [
        {"type": "reset", "data": {"seed": 4, "episode_id": "g"}},
        {"type": "step", "data": {"number": 1}},
        {"type": "step", "data": {"number": 9}},
        {"type": "step", "data": {"number": 4}},
        STATE,
    ],
    "a wrong guess": [{"type": "step", "data": {"number": "x"}}, STATE],
}
"""What is sent to an environment with a rubric, a transform and an async step."""


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    path: str
    content: dict[str, Any] = field(default_factory=dict)


def post(path: str, body: Any) -> Call:
    """A POST with a JSON body."""
    return Call("POST", path, {"json": body})


CALLS: dict[str, Call] = {
    "health": Call("GET", "/health"),
    "metadata": Call("GET", "/metadata"),
    "schema": Call("GET", "/schema"),
    "state": Call("GET", "/state"),
    "reset": post("/reset", {"seed": 42, "episode_id": "e1", "level": "hard", "foo": 1}),
    "reset without a body": Call("POST", "/reset"),
    "reset with an empty object": post("/reset", {}),
    "reset with metadata": post("/reset", {"meta": 1}),
    "reset with a numeric text": post("/reset", {"seed": "7"}),
    "negative seed": post("/reset", {"seed": -1}),
    "seed of text": post("/reset", {"seed": "abc"}),
    "long episode id": post("/reset", {"episode_id": "e" * 256}),
    "reset with an array": post("/reset", [1]),
    "reset that is not JSON": Call(
        "POST", "/reset", {"content": "{bad", "headers": {"content-type": "application/json"}}
    ),
    "reset without a content type": Call("POST", "/reset", {"content": '{"seed":1}'}),
    "step": post("/step", {"action": {"cmd": "hi", "n": 3, "payload": {"a": 1}}}),
    "step with options": post("/step", {"action": {"cmd": "hi"}, "timeout_s": 3, "request_id": "r", "render": True}),
    "step with metadata": post("/step", {"action": {"cmd": "meta"}}),
    "integer reward": post("/step", {"action": {"cmd": "reward int"}}),
    "boolean reward": post("/step", {"action": {"cmd": "reward true"}}),
    "not finite": post("/step", {"action": {"cmd": "not finite"}}),
    "done": post("/step", {"action": {"cmd": "done"}}),
    "step without an action": post("/step", {"cmd": "hi"}),
    "step without a body": Call("POST", "/step"),
    "action of text": post("/step", {"action": "hi"}),
    "short text": post("/step", {"action": {"cmd": ""}}),
    "unknown field": post("/step", {"action": {"cmd": "hi", "extra": 1}}),
    "no time": post("/step", {"action": {"cmd": "hi"}, "timeout_s": 0}),
    "refused by a validator": post("/step", {"action": {"cmd": "forbidden"}}),
    "exception": post("/step", {"action": {"cmd": "raise"}}),
    "numpy array": post("/step", {"action": {"cmd": "array"}}),
    "unknown path": Call("GET", "/nothing"),
    "wrong method": Call("GET", "/reset"),
    "options": Call("OPTIONS", "/reset"),
    "websocket over HTTP": Call("GET", "/ws"),
    "environments": Call("GET", "/list_environments"),
    "splits": Call("GET", "/probe/splits"),
    "splits in capitals": Call("GET", "/PROBE/splits"),
    "splits of another name": Call("GET", "/other/splits"),
    "tasks": post("/probe/tasks", {"split": "train"}),
    "number of tasks": post("/probe/num_tasks", {"split": "train"}),
    "task": post("/probe/task", {"split": "train", "index": 0}),
    "task range": post("/probe/task_range", {"split": "train"}),
    "task without an index": post("/probe/task", {"split": "train"}),
}
"""What is asked of the probe by HTTP."""

PRODUCTION_CALLS: dict[str, Call] = {
    name: CALLS[name] for name in ("health", "metadata", "schema", "state", "reset", "step", "splits")
}
"""What is asked of the probe in production mode."""
