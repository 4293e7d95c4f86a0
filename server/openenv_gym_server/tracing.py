"""OpenTelemetry spans of sessions and what they do, where the program has configured a tracer provider.

A span for each session, and in it one for each reset, step and tool call. The session's parent is the ``traceparent``
of the request that opened it; a request that carries one of its own is the parent of what it asks for. Without a
provider nothing of this is loaded, and sessions are as they would be without it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from openenv_gym_protocol.errors import FailureClass, OpenEnvGymError
from openenv_gym_protocol.tools import ToolErrorType
from pydantic import BaseModel

from openenv_gym_server.callers import CALLER
from openenv_gym_server.contract import Contract
from openenv_gym_server.dispatch import Host, Values
from openenv_gym_server.serialisation import Result
from openenv_gym_server.watched import NO_OPTIONS

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

_T = TypeVar("_T")

_CLASSES = {
    ToolErrorType.EXECUTION_ERROR: FailureClass.ENVIRONMENT,
    ToolErrorType.TRANSPORT_ERROR: FailureClass.INFRASTRUCTURE,
    ToolErrorType.TIMEOUT: FailureClass.TIMEOUT,
    ToolErrorType.INVALID_ARGS: FailureClass.VALIDATION,
    ToolErrorType.TOOL_NOT_FOUND: FailureClass.VALIDATION,
}


def find_tracer() -> Tracer | None:
    """The program's tracer; None where OpenTelemetry is not installed, or no tracer provider is configured."""
    # Whoever configures a provider has loaded it.
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    tracer: Tracer = trace.get_tracer("openenv_gym_server", tracer_provider=provider)
    return tracer


def make_host(contract: Contract, session_id: str) -> Host:
    """A session's host, with spans where there is a tracer."""
    if contract.tracer is None:
        return Host(contract, session_id)
    return TracedHost(contract, session_id, contract.tracer)


def carried(work: Callable[[Host], Awaitable[_T]]) -> Callable[[Host], Awaitable[_T]]:
    """Work whose spans are those of the request that is being served, if that carries a ``traceparent``."""
    caller = CALLER.get()
    if caller is None or not caller.trace:
        return work
    trace = caller.trace

    async def traced(host: Host) -> _T:
        if not isinstance(host, TracedHost):
            return await work(host)
        host.request_trace = trace
        try:
            return await work(host)
        finally:
            host.request_trace = {}

    return traced


class TracedHost(Host):
    """A host that tells of what it does.

    Attributes:
        request_trace: The trace headers of the request that is being served, by their names.
    """

    def __init__(self, contract: Contract, session_id: str, tracer: Tracer) -> None:
        super().__init__(contract, session_id)
        self.request_trace: Mapping[str, str] = {}
        self._tracer = tracer
        self._session: Span | None = None
        self._is_inside = False
        self._attributes = {"openenv.session_id": session_id, "openenv.environment": contract.definition.name}

    async def construct(self, **arguments: Any) -> None:
        """Makes the environment, and begins the session's span."""
        self._session = self._tracer.start_span(
            "openenv.session", context=self._request_context(), attributes=self._attributes
        )
        with self._failing(self._session, "construct"):
            await super().construct(**arguments)

    async def reset(self, data: dict[str, Any]) -> Result:
        """As ``Host.reset``."""
        with self._span("reset"):
            return await super().reset(data)

    async def reset_values(self, data: dict[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """As ``Host.reset_values``."""
        with self._span("reset"):
            return await super().reset_values(data)

    async def step(self, data: dict[str, Any], options: Mapping[str, Any] | None = None) -> Result:
        """As ``Host.step``."""
        with self._span(*_kind_of(data)) as span:
            return _noted(span, await super().step(data, options))

    def step_at_once(
        self, read: Callable[[Host, Any], Result], data: dict[str, Any], options: Mapping[str, Any] = NO_OPTIONS
    ) -> Result:
        """As ``Host.step_at_once``."""
        with self._span(*_kind_of(data)) as span:
            return _noted(span, super().step_at_once(read, data, options))

    def step_values(self, action: Any, deadline: float | None) -> Values:
        """As ``Host.step_values``."""
        with self._span("step"):
            return super().step_values(action, deadline)

    async def take(self, action: BaseModel) -> Result:
        """As ``Host.take``."""
        if self._is_inside:
            return await super().take(action)
        with self._span(*_kind_of(vars(action))) as span:
            return _noted(span, await super().take(action))

    async def observe_arrays(self, operation: str, lanes: int, *arguments: Any, **seeds: Any) -> Any:
        """As ``Host.observe_arrays``: one span for all lanes."""
        with self._span(operation) as span:
            span.set_attribute("openenv.lanes", lanes)
            return await super().observe_arrays(operation, lanes, *arguments, **seeds)

    async def close(self) -> None:
        """Closes the environment, and ends the session's span."""
        await super().close()
        if self._session is not None:
            self._session.end()

    @contextmanager
    def _span(self, operation: str, tool: str | None = None) -> Iterator[Span]:
        from opentelemetry import trace

        assert self._session is not None
        own = trace.set_span_in_context(self._session)
        asked = self._request_context()
        links = [trace.Link(self._session.get_span_context())] if asked is not None else []
        attributes = self._attributes if tool is None else self._attributes | {"openenv.tool": tool}
        with self._tracer.start_as_current_span(
            f"openenv.{operation}",
            context=own if asked is None else asked,
            attributes=attributes,
            links=links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            self._is_inside = True
            try:
                with self._failing(span, operation):
                    yield span
            finally:
                self._is_inside = False

    @contextmanager
    def _failing(self, span: Span, operation: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        except BaseException as error:
            _fail(span, self._class_of(error, operation, started))
            raise
        else:
            if self._is_late(operation, started):
                _fail(span, FailureClass.TIMEOUT)

    def _class_of(self, error: BaseException, operation: str, started: float) -> FailureClass:
        if isinstance(error, asyncio.CancelledError) or self._is_late(operation, started):
            return FailureClass.TIMEOUT
        return error.failure if isinstance(error, OpenEnvGymError) else FailureClass.ENVIRONMENT

    def _is_late(self, operation: str, started: float) -> bool:
        """Whether a call that ends now was given up by the server."""
        limit = self.contract.config.limit("step" if operation == "tool_call" else operation)
        return self.abandoned and limit is not None and time.monotonic() - started > limit

    def _request_context(self) -> Context | None:
        if not self.request_trace:
            return None
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = TraceContextTextMapPropagator().extract(self.request_trace)
        return context if trace.get_current_span(context).get_span_context().is_valid else None


def _kind_of(action: Mapping[str, Any]) -> tuple[str, str | None]:
    """What an action's span is called, and its tool."""
    tool = action.get("tool_name")
    return ("tool_call", tool[:128]) if isinstance(tool, str) else ("step", None)


def _noted(span: Span, result: Result) -> Result:
    """Notes the error that a tool call has in place of a result."""
    error = result.observation.get("error") if isinstance(result.observation, dict) else None
    kind = error.get("error_type") if isinstance(error, dict) else None
    if kind in _CLASSES:
        _fail(span, _CLASSES[kind])
    return result


def _fail(span: Span, failure: FailureClass) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("openenv.failure_class", str(failure))
    span.set_status(Status(StatusCode.ERROR, str(failure)))
