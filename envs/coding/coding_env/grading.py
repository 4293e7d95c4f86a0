"""Tests a block of code that is not trusted: the tests run elsewhere and see of it plain data only."""

from __future__ import annotations

import ast
import builtins
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openenv_gym_protocol.errors import InvalidAction

from coding_env.processes import Garbled, Lost, Process
from coding_env.sandbox import Sandbox

_TEST_SECONDS = 5.0
"""Of one test."""

_HELPERS = ("raises",)


@dataclass(frozen=True)
class Test:
    """One test.

    Attributes:
        code: Python, which fails by any exception.
        names: The functions of the tested code that it calls.
    """

    code: str
    names: tuple[str, ...]


def read_tests(sources: Sequence[str]) -> tuple[Test, ...]:
    """Tests from their code: the names in it that are neither Python's nor its own are those of the tested code.

    Raises:
        InvalidAction: One is no Python, or calls nothing of the tested code.
    """
    return tuple(_read_test(at, source) for at, source in enumerate(sources))


def _read_test(at: int, source: str) -> Test:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidAction(f"tests[{at}] is no Python: {error}") from error
    loaded: set[str] = set()
    bound = {*dir(builtins), *_HELPERS}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                loaded.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str() as name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add((other or name).partition(".")[0])
    names = tuple(sorted(loaded - bound))
    if not names:
        raise InvalidAction(f"tests[{at}] calls no function of the tested code: {source!r:.80}")
    return Test(source, names)


class Grader:
    """Grades blocks of code by tests.

    The code runs in a fresh interpreter, the tests in another; between them go the arguments and results of calls, as
    text. The tested code never meets the tests' code or what they expect, nor the process that judges.

    Args:
        sandbox: Where both run.
        tests: The tests.
    """

    def __init__(self, sandbox: Sandbox, tests: Sequence[Test]) -> None:
        self._sandbox = sandbox
        self._tests = tests
        self._judge: Process | None = None

    def passed(self, code: str, seconds: float) -> int:
        """How many of the tests a block of code passes.

        Args:
            code: The block.
            seconds: How long all of it may take; tests that are not reached have failed.

        Raises:
            ExecutionError: An interpreter could not be started.
        """
        tested = _Tested(self._sandbox, code, time.monotonic() + seconds)
        try:
            return sum(self._passes(test, tested) for test in self._tests)
        finally:
            tested.close()

    def close(self) -> None:
        """Ends the judge."""
        judge, self._judge = self._judge, None
        if judge is not None:
            judge.kill()

    def _passes(self, test: Test, tested: _Tested) -> bool:
        if not tested.is_ready():
            return False
        until = min(tested.deadline, time.monotonic() + _TEST_SECONDS)
        judge = self._judge = self._judge or self._sandbox.start(is_judge=True)
        id = secrets.token_hex(8)
        try:
            judge.send({"id": id, "do": "test", "code": test.code, "names": test.names}, until)
            while "call" in (reply := judge.receive(id, until)):
                judge.send(tested.call(reply, until), until)
        except Lost:  # the test took too long by itself, or for its many calls
            self.close()
            return False
        return reply.get("passed") is True


class _Tested:
    """The tested code in its interpreter, which is started anew where the code was lost in a test."""

    def __init__(self, sandbox: Sandbox, code: str, deadline: float) -> None:
        self.deadline = deadline
        self._sandbox = sandbox
        self._code = code
        self._is_hopeless = False
        self._process: Process | None = None

    def is_ready(self) -> bool:
        """Whether there is something to test: code that fails has no functions."""
        if self._process is None and not self._is_hopeless and time.monotonic() < self.deadline:
            self._process = self._sandbox.start()
            try:
                ended = self._process.ask({"do": "run", "code": self._code}, self.deadline).get("exit_code")
            except Lost:
                ended = None
            if ended != 0:
                self._is_hopeless = True
                self.close()
        return self._process is not None and time.monotonic() < self.deadline

    def call(self, asked: dict[str, Any], until: float) -> dict[str, Any]:
        """Takes a call, and passes on what the code says: texts, and nothing else."""
        if self._process is None:
            return {"text": "the tested code has ended"}
        request = {"do": "call", "name": asked["call"], "arguments": asked["arguments"]}
        try:
            # The judge is to hear of it in time.
            reply = self._process.ask(request, until - min(0.5, (until - time.monotonic()) / 2))
            if isinstance(value := reply.get("value"), str):
                return {"value": value}
            kinds = reply.get("raised")
            if not isinstance(kinds, list):
                raise Garbled
        except Lost as lost:
            self.close()
            return {"text": f"the tested code was lost: {type(lost).__name__}"}
        text = reply.get("text")
        named = [kind for kind in kinds[:20] if isinstance(kind, str)]  # what else it says is not looked into
        return {"raised": named, "text": text[:500] if isinstance(text, str) else ""}

    def close(self) -> None:
        """Ends the process and all that it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
