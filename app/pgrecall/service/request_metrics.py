"""Metrics of the service for Prometheus."""

from __future__ import annotations

import os

import prometheus_client as prometheus
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from pgrecall.service.database_metrics import Families

REQUESTS = prometheus.Histogram(
    "pgrecall_request_seconds",
    "Time from the end of a request's body to the end of its answer, waiting included.",
    ("method", "route", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REFUSED = prometheus.Counter(
    "pgrecall_refused_requests", "Requests that no route answered, by status.", ("reason",)
)
RUNNING, WAITING = (
    prometheus.Gauge(f"pgrecall_{what}_requests", f"Requests {what}.", multiprocess_mode="livesum")
    for what in ("running", "waiting")
)


def exposed(of_database: Families) -> Response:
    """The metrics of requests, with several workers those of all of them; and of the database."""
    registry = prometheus.REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = prometheus.CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    content = prometheus.generate_latest(registry) + prometheus.generate_latest(of_database)
    return Response(content, media_type=prometheus.CONTENT_TYPE_LATEST)
