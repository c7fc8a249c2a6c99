"""The ASGI application of the service."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pgrecall.errors import ExtraMissing, MemoryNotFound, PgRecallError
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.access import require_policies
from pgrecall.migrate.connecting import async_engine_of
from pgrecall.service import (
    memory_os_routes,
    memory_routes,
    pages,
    service_routes,
    studio_page,
)
from pgrecall.service.caller import Caller, authenticate, require_scope
from pgrecall.service.database_metrics import DatabaseMetrics
from pgrecall.service.document import DocumentedApp, errors
from pgrecall.service.gate import Gate, confine
from pgrecall.service.key_cache import KeyRing
from pgrecall.service.problems import Problem, to_problem
from pgrecall.service.service_settings import ServiceSettings
from pgrecall.service.shutdown import watch_signals

_CALLER: ContextVar[Caller] = ContextVar("pgrecall_caller")
"""The caller of the request: tools run in its task, or in tasks that it starts."""


class McpRoute:
    """The application of the route."""

    path = "/mcp"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self  # for the metrics
        request = Request(scope)
        _CALLER.set(authenticate(request, "read", request.query_params.get("owner")))
        if request.app.state.answer_mcp is None:
            raise ExtraMissing("/mcp needs the extra mcp: pip install 'pgrecall[mcp]'")
        await request.app.state.answer_mcp(scope, receive, send)


@asynccontextmanager
async def serve_mcp(max_body: int) -> AsyncIterator[ASGIApp | None]:
    """The app that answers the messages of models; None without the extra mcp."""
    try:
        from pgrecall.mcp.memory_server import over_http
        from pgrecall.mcp.memory_tools import MemoryTools
    except ExtraMissing:
        yield None
        return

    @contextmanager
    def access(effect: str) -> Iterator[tuple[MemoryTools, str]]:
        caller = _CALLER.get()
        try:
            require_scope(caller.key, "read" if effect == "reads" else "write")
            yield MemoryTools(caller.repo, touch=caller.touch()), caller.owner
        except Exception as error:  # models get the errors of other clients
            kind = MemoryNotFound if isinstance(error, MemoryNotFound) else PgRecallError
            raise kind(to_problem(error).detail) from error

    async with over_http(access, max_body=max_body) as answered:
        yield answered


COMPRESSED_FROM = 4_096
"""Bytes: smaller answers fit into few packets. JSON of memories shrinks to an eighth."""
MakeRepository = Callable[[AsyncEngine], AsyncMemoryRepository]


def create_app(settings: ServiceSettings, make_repository: MakeRepository) -> ASGIApp:
    """The service, for any ASGI server. It opens no connection before the server starts it."""
    own = _engine(settings, pool_size=3)  # for keys, readiness, metrics: they wait for no request
    app = DocumentedApp(
        title="pgrecall",
        version=version("pgrecall"),
        description="Ranks the memories of AI agents inside PostgreSQL.",
        docs_url=None,  # its page loads scripts from elsewhere; ours is in pages.py
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.settings, app.state.own = settings, own
    app.state.make_repository = make_repository
    for module in (memory_routes, service_routes):
        app.include_router(module.router, responses=errors())
    for module in (memory_os_routes, pages, studio_page):
        app.include_router(module.router)
    app.router.routes.append(Route(McpRoute.path, McpRoute(), methods=["POST"]))
    for kind in (PgRecallError, Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answered)
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM, compresslevel=1)
    ring = KeyRing(own, settings.schema, settings.key_seconds) if settings.keyed else None
    return Gate(app, settings, ring)


async def _answered(request: Request, error: Exception) -> Response:
    return to_problem(error).response(request.url.path)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Opens the pool of requests, once it is known how its connections can be confined."""
    settings: ServiceSettings = app.state.settings
    own: AsyncEngine = app.state.own
    watch_signals()
    async with AsyncExitStack() as opened:
        opened.push_async_callback(own.dispose)
        with map_errors():
            async with own.connect() as connection:
                pooled = await _is_pooled(connection)
                if settings.keyed:
                    await connection.run_sync(require_policies, settings.schema, settings.role)
        engine = _engine(settings, pool_size=settings.concurrency, prepares=not pooled)
        opened.push_async_callback(engine.dispose)
        if settings.keyed:
            confine(engine, settings.role, pooled=pooled)
        app.state.repo = app.state.make_repository(engine)
        app.state.prober = AsyncMemoryRepository(own, schema=settings.schema)
        app.state.database_metrics = DatabaseMetrics(app.state.prober)
        app.state.answer_mcp = await opened.enter_async_context(serve_mcp(settings.max_body))
        # What is there stays: looking through it again for every few hundred objects of bodies
        # would stop all requests for a tenth of a second.
        gc.collect()
        gc.freeze()
        yield


def _engine(settings: ServiceSettings, *, pool_size: int, prepares: bool = False) -> AsyncEngine:
    return async_engine_of(
        settings.database_url,
        prepares=prepares,
        application="pgrecall serve",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=settings.timeout,
    )


async def _is_pooled(connection: AsyncConnection) -> bool:
    """True if a proxy between us and PostgreSQL may change sessions.

    It reports another backend than the one that answers. So do some proxies that change none;
    behind these, requests only take a little longer.
    """
    backend = await connection.scalar(text("SELECT pg_backend_pid()"))
    driver: Any = (await connection.get_raw_connection()).driver_connection
    return bool(backend != driver.info.backend_pid)
