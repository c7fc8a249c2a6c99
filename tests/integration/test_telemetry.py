"""Spans and durations, as an application's providers receive them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from sqlalchemy import Engine, make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, Rerank
from pgrecall.errors import DatabaseReadOnly, InputError
from tests.integration.compass import North
from tests.integration.support import NORTH, at

Providers = tuple[InMemorySpanExporter, InMemoryMetricReader]
Spans = Callable[[], list[ReadableSpan]]


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    """Those of the process: it can have one of each, so they stay. Afterwards spans are dropped; a
    tracer that is shut down would log a warning for each call of later tests."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing, metering = TracerProvider(), MeterProvider([reader])
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracing)
    metrics.set_meter_provider(metering)
    yield exporter, reader
    exporter.shutdown()
    exporter.clear()
    metering.shutdown()


@pytest.fixture
def spans(providers: Providers) -> Spans:
    """The spans that have ended since they were asked for last."""
    exporter, _ = providers
    exporter.clear()

    def ended() -> list[ReadableSpan]:
        found = list(exporter.get_finished_spans())
        exporter.clear()
        return found

    return ended


def points(reader: InMemoryMetricReader) -> list[Any]:
    """Those of the one histogram there is."""
    data: Any = reader.get_metrics_data()
    [histogram] = data.resource_metrics[0].scope_metrics[0].metrics
    assert (histogram.name, histogram.unit) == ("db.client.operation.duration", "s")
    return list(histogram.data.data_points)


def test_a_call_is_a_span(either: MemoryRepository, database_url: str, spans: Spans) -> None:
    either.add_many("agent", [NewMemory(f"{n}", embedding=at(n)) for n in range(20)])
    spans()

    either.search("agent", NORTH, k=7, filter={"similarity": {"$gte": 0.1}})
    either.count("agent")

    [span, counting] = spans()
    assert "db.response.returned_rows" not in dict(counting.attributes or {})
    assert (span.name, span.kind) == ("search pgrecall", SpanKind.CLIENT)
    assert span.status.status_code is StatusCode.UNSET
    database = make_url(database_url)
    expected = {
        "db.system.name": "postgresql",
        "db.operation.name": "search",
        "db.namespace": f"{database.database}|pgrecall",
        "db.response.returned_rows": 7,
        "pgrecall.owner": "'agent'",
        "pgrecall.strategy": "exact",
    }
    if database.host:
        expected["server.address"] = database.host
    if database.port:
        expected["server.port"] = database.port
    assert dict(span.attributes or {}) == expected


def test_calls_at_once_are_below_the_span_that_made_them(
    async_engine: AsyncEngine, loop: asyncio.Runner, spans: Spans
) -> None:
    repository = AsyncMemoryRepository(async_engine)
    tracer = trace.get_tracer("host")

    async def answer(agent_id: str) -> None:
        with tracer.start_as_current_span(agent_id):
            await repository.search(agent_id, NORTH)
            assert trace.get_current_span().get_span_context().is_valid

    async def both() -> None:
        await asyncio.gather(answer("one"), answer("two"))

    loop.run(both())

    found = spans()
    outer = {f"'{span.name}'": span.context.span_id for span in found if span.parent is None}
    inner = {
        dict(span.attributes or {})["pgrecall.owner"]: span.parent.span_id
        for span in found
        if span.parent is not None
    }
    assert len(inner) == 2
    assert inner == outer


def test_what_a_job_asks_of_the_database_is_below_it(
    either: MemoryRepository, spans: Spans
) -> None:
    either.consolidate("agent")

    asking, job = spans()
    assert (asking.name, asking.kind) == ("consolidate.clusters pgrecall", SpanKind.CLIENT)
    assert (job.name, job.kind) == ("consolidate pgrecall", SpanKind.INTERNAL)
    assert asking.parent is not None
    assert asking.parent.span_id == job.context.span_id


def test_a_failure_is_told_without_its_message(engine: Engine, spans: Spans) -> None:
    reader = MemoryRepository(engine.execution_options(postgresql_readonly=True))

    with pytest.raises(DatabaseReadOnly):
        reader.add("agent", NewMemory("tea", embedding=NORTH))
    with pytest.raises(InputError):
        reader.search("agent", "\0the door code is 4711")

    found = spans()
    assert [dict(span.attributes or {}).get("error.type") for span in found] == [
        "DatabaseReadOnly",
        "InputError",
    ]
    assert dict(found[0].attributes or {})["db.response.status_code"] == "25006"
    for span in found:
        assert span.status.status_code is StatusCode.ERROR
        assert "4711" not in span.to_json()
        assert not span.events


def test_durations_are_in_seconds_and_without_embedder_and_reranker(
    engine: Engine, providers: Providers
) -> None:
    class Slow(North):
        def embed_query(self, text: str) -> list[float]:
            sum(range(10_000_000))
            return NORTH

    exporter, reader = providers
    exporter.clear()

    def slow(query: str, texts: list[str]) -> list[int]:
        return [sum(range(10_000_000)) for _ in texts]

    repo = MemoryRepository(engine, embedder=Slow())
    repo.add("agent", "tea")
    reader.get_metrics_data()

    repo.consolidate("agent")
    repo.context("agent", "tea", rerank=Rerank(slow, timeout=60), touch=False)

    span = exporter.get_finished_spans()[-1]
    assert span.name == "context pgrecall"
    told = {one.attributes["db.operation.name"]: one for one in points(reader)}
    assert "consolidate" not in told, "a job is its operations"
    point = told["context"]
    assert tuple(point.explicit_bounds) == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
    assert point.attributes["db.system.name"] == "postgresql"
    assert point.attributes["db.namespace"].endswith("|pgrecall")
    assert "pgrecall.owner" not in point.attributes, "one series for each owner would be many"
    spent: Any = dict(span.attributes or {})
    beside = [spent[f"pgrecall.{part}.duration"] for part in ("embedding", "reranking")]
    assert span.start_time is not None
    assert span.end_time is not None
    whole = (span.end_time - span.start_time) / 1e9
    assert min(beside) > 0
    assert 0 < point.sum <= whole - sum(beside)
