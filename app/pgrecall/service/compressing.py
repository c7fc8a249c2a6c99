"""Answers are compressed for clients that accept it, except those of MCP."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from pgrecall.service.mcp_route import McpRoute

LEAST_BYTES = 4_096
"""Smaller answers fit into few packets."""
LEVEL = 1
"""The fastest: JSON of memories shrinks to an eighth by it."""


class Compressing(GZipMiddleware):
    """Compresses what routes answer."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, minimum_size=LEAST_BYTES, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == McpRoute.path:
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
