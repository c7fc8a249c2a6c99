"""POST /mcp: the tools of pgrecall.mcp by streamable HTTP, for the owner of a request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from pgrecall.errors import ExtraMissing, MemoryNotFound, PgRecallError
from pgrecall.service.caller import Caller, authenticate, require_scope
from pgrecall.service.problems import to_problem

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
