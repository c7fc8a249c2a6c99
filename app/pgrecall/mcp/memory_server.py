"""The server: tools and resources over a repository."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import wraps
from importlib.metadata import version
from inspect import signature
from typing import Any

from pgrecall.core.time_limit import within
from pgrecall.errors import ExtraMissing, MemoryNotFound, PgRecallError
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.scoring.profile import Profile

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
    from mcp.types import ToolAnnotations
    from starlette.datastructures import MutableHeaders
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError as problem:
    raise ExtraMissing("an MCP server needs mcp 2: pip install 'pgrecall[mcp]'") from problem

from pgrecall.mcp.memory_tools import TOOLS, Effect, MemoryTools

INSTRUCTIONS = (
    "Long-term memory. Recall before answering what may depend on earlier conversations; remember "
    "what will matter later; say by feedback what helped; correct what has changed."
)

Access = Callable[[Effect], AbstractContextManager[tuple[MemoryTools, str | None]]]
"""The tools for a call with this effect, and the agent, which is None if the model names it.

Entering it may raise PgRecallError, which is the answer to the model.
"""


def memory_server(
    repo: AsyncMemoryRepository,
    agent: str | None,
    *,
    profile: Profile | str | None = None,
) -> MCPServer[Any]:
    """An MCP server for the memories of an agent, or, if `agent` is None, of any agent that a
    model names. Tools rank by `profile`, or as the repository does."""
    tools = MemoryTools(repo, profile)
    return server_of(lambda _: nullcontext((tools, agent)), any_agent=agent is None)


def server_of(access: Access, *, any_agent: bool = False) -> MCPServer[Any]:
    """An MCP server whose calls ask for `access`. `any_agent`: the model names the agent."""
    server: MCPServer[Any] = MCPServer(
        "pgrecall",
        instructions=INSTRUCTIONS,
        version=version("pgrecall"),
        log_level="WARNING",
    )

    def guarded(
        function: Callable[..., Any], effect: Effect, failure: type[Exception]
    ) -> Callable[..., Any]:
        """The function as a client sees it: without its agent, unless the model names it, and
        with our errors as answers; others are crashes, of which a client learns nothing."""
        declared = signature(function, eval_str=True)
        [_, *arguments] = declared.parameters.values()  # without self
        shown = [one for one in arguments if one.name != "agent" or any_agent]

        @wraps(function)
        async def call(**values: Any) -> Any:
            try:
                with access(effect) as (tools, agent):
                    if agent is not None:
                        values["agent"] = agent
                    return await within(None, function(tools, **values))
            except MemoryNotFound as error:
                not_found = ResourceNotFoundError if failure is ResourceError else failure
                raise not_found(str(error)) from error
            except PgRecallError as error:
                raise failure(str(error)) from error

        call.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in shown}
        call.__annotations__["return"] = declared.return_annotation
        return call

    for tool, effect in TOOLS.items():
        server.add_tool(guarded(tool, effect, ToolError), annotations=_annotations(effect))
    memories = "pgrecall://{agent}/memories" if any_agent else "pgrecall://memories"
    for uri, function in (
        (memories, MemoryTools.newest),
        (f"{memories}/{{memory_id}}", MemoryTools.memory),
    ):
        as_resource = server.resource(uri, mime_type="application/json")
        as_resource(guarded(function, "reads", ResourceError))
    return server


@asynccontextmanager
async def over_http(access: Access, *, max_body: int) -> AsyncIterator[ASGIApp]:
    """An application that answers messages of at most `max_body` bytes, each by itself as JSON.

    Host, origin and key of a request must have been checked.
    """
    server = server_of(access)
    server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=max_body, host=""
    )

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        MutableHeaders(scope=scope)["accept"] = "application/json"  # subscriptions never end
        await server.session_manager.handle_request(scope, receive, send)

    async with server.session_manager.run():
        yield answered


def _annotations(effect: Effect) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=effect == "reads",
        destructive_hint=effect == "destroys",
        idempotent_hint=effect in ("reads", "adds", "destroys"),
        open_world_hint=False,
    )
