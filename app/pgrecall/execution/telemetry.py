"""Spans and durations, by OpenTelemetry's semantic conventions for databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from pgrecall.execution.invocation import Invocation, known

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
"""The bucket boundaries of the conventions, in seconds."""


@contextmanager
def traced(call: Invocation[Any]) -> Iterator[None]:
    """Records a call as a span, a child of the current one, and its duration in the histogram.

    A job is only a span, whose children are its operations. The time of embedder and reranker is
    part of the span but not of the histogram, which is about the database.
    """
    tracer, durations = _instruments()
    place = _place(call)
    with (
        nullcontext(trace.INVALID_SPAN)  # cheaper than a span that is not recorded
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        else tracer.start_as_current_span(
            f"{call.name} {call.schema}",
            kind=SpanKind.INTERNAL if call.engine is None else SpanKind.CLIENT,
            attributes=place,
            record_exception=False,  # its message quotes arguments
            set_status_on_exception=False,
        )
    ) as span:
        try:
            yield
        finally:
            failure = known({"error.type": call.error, "db.response.status_code": call.sqlstate})
            place = _place(call)  # which may be the replica by now
            if span.is_recording():
                rows = None if isinstance(call.result, int) else call.rows
                attributes = {
                    "db.response.returned_rows": rows,
                    "pgrecall.owner": call.owner,
                    "pgrecall.strategy": call.strategy,
                    "pgrecall.retries": call.retries,
                    "pgrecall.embedding.duration": call.embedding_seconds or None,
                    "pgrecall.reranking.duration": call.reranking_seconds or None,
                }
                span.set_attributes(place | known(attributes) | failure)
                if failure:
                    span.set_status(Status(StatusCode.ERROR))
            if call.engine is not None:
                spent = call.seconds - call.embedding_seconds - call.reranking_seconds
                durations.record(spent, place | failure)


def _place(call: Invocation[Any]) -> dict[str, Any]:
    """The attributes of the operation and its database."""
    attributes = {"db.system.name": "postgresql", "db.operation.name": call.name}
    if call.engine is None:
        return attributes
    url = call.engine.url
    return attributes | known(
        {
            "db.namespace": "|".join(name for name in (url.database, call.schema) if name),
            "server.address": url.host,
            "server.port": url.port,
        }
    )


@cache
def _instruments() -> tuple[trace.Tracer, metrics.Histogram]:
    """The tracer and the histogram; they follow providers that are set later."""
    create = partial(
        metrics.get_meter("pgrecall").create_histogram,
        "db.client.operation.duration",
        unit="s",
        description="Duration of database client operations.",
    )
    try:
        histogram = create(explicit_bucket_boundaries_advisory=_BUCKETS)
    except TypeError:  # before OpenTelemetry 1.30
        histogram = create()
    return trace.get_tracer("pgrecall"), histogram
