"""The server: tools and resources over a repository."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from inspect import signature
from typing import Any
from uuid import UUID

from pgrecall.core.quoting import shortened
from pgrecall.errors import ExtraMissing, MemoryNotFound, PgRecallError
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.scoring.profile import Profile

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
    from mcp.types import ToolAnnotations
except ImportError as problem:
    raise ExtraMissing("an MCP server needs mcp 2: pip install 'pgrecall[mcp]'") from problem

from pgrecall.mcp.memory_tools import MOST, Effect, MemoryTools
from pgrecall.mcp.tool_answers import Listed, StoredMemory

INSTRUCTIONS = (
    "Long-term memory. Recall before answering what may depend on earlier conversations; remember "
    "what will matter later; say by feedback what helped; correct what has changed."
)


def memory_server(
    repo: AsyncMemoryRepository,
    agent: str | None,
    *,
    profile: Profile | str = "hybrid",
) -> MCPServer[Any]:
    """An MCP server for the memories of an agent, or, if `agent` is None, of any agent that a
    model names. Tools rank by `profile`."""
    server: MCPServer[Any] = MCPServer(
        "pgrecall",
        instructions=INSTRUCTIONS,
        version=version("pgrecall"),
        log_level="WARNING",
    )
    for tool, effect in MemoryTools(repo, profile).all().items():
        server.add_tool(_guarded(tool, agent, ToolError), annotations=_annotations(effect))

    async def memory(agent: str, memory_id: str) -> str:
        """A memory."""
        try:
            found = await repo.get(agent, UUID(memory_id))
        except ValueError:
            found = None
        if found is None:
            raise MemoryNotFound(f"there is no memory {shortened(memory_id)}")
        return StoredMemory.of(found).model_dump_json()

    async def newest(agent: str) -> str:
        """The newest memories."""
        return Listed.of(await repo.list(agent, limit=MOST)).model_dump_json()

    within = "pgrecall://memories" if agent is not None else "pgrecall://{agent}/memories"
    for uri, function in ((within, newest), (f"{within}/{{memory_id}}", memory)):
        as_resource = server.resource(uri, mime_type="application/json")
        as_resource(_guarded(function, agent, ResourceError))
    return server


def _guarded(
    function: Callable[..., Any], agent: str | None, failure: type[Exception]
) -> Callable[..., Any]:
    """The function as a client sees it: without its agent, if that is given, and with our errors
    as answers; others are crashes, of which a client learns nothing."""
    asked = signature(function, eval_str=True)
    shown = [one for one in asked.parameters.values() if one.name != "agent" or agent is None]

    @wraps(function)
    async def guarded(**given: Any) -> Any:
        try:
            return await function(**given if agent is None else given | {"agent": agent})
        except MemoryNotFound as error:
            not_found = ResourceNotFoundError if failure is ResourceError else failure
            raise not_found(str(error)) from error
        except PgRecallError as error:
            raise failure(str(error)) from error

    guarded.__signature__ = asked.replace(parameters=shown)  # type: ignore[attr-defined]
    guarded.__annotations__ = {one.name: one.annotation for one in shown}
    guarded.__annotations__["return"] = asked.return_annotation
    return guarded


def _annotations(effect: Effect) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=effect == "reads",
        destructive_hint=effect == "destroys",
        idempotent_hint=effect in ("reads", "adds", "destroys"),
        open_world_hint=False,
    )
