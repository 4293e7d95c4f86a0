"""A server whose program has configured OpenTelemetry; it tells the finished spans at ``/spans``."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server import create_app
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.support.apps.misbehaving import Answer, Command, served
from tests.support.apps.tools import Counter
from tests.support.apps.walk_values import BegunByValues, ValuesWalk
from tests.support.apps.walks import Move, Place

EXPORTER = InMemorySpanExporter()


class Nested(Counter):
    def count(self, by: int = 1) -> int:
        """Counts, and tells of it by a span of its own."""
        with trace.get_tracer("environment").start_as_current_span("inside"):
            return super().count(by)


def _with_spans(app: FastAPI) -> FastAPI:
    @app.get("/spans")
    def spans() -> list[Any]:
        return [json.loads(span.to_json()) for span in EXPORTER.get_finished_spans()]

    return app


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
trace.set_tracer_provider(provider)

app = _with_spans(create_app(Nested, CallToolAction, CallToolObservation, env_name="traced"))
misbehaving_app = _with_spans(create_app(served, Command, Answer, env_name="misbehaving"))
values_app = _with_spans(create_app(ValuesWalk, Move, Place, env_name="values"))
begun_app = _with_spans(create_app(BegunByValues, Move, Place, env_name="begun-by-values"))
