"""pgrecall mcp"""

from __future__ import annotations

import asyncio
from typing import Annotated

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.database import Database
from pgrecall.cli.embedding import EmbedderName, FindEntities, RerankerName, maker
from pgrecall.cli.options import Zone
from pgrecall.cli.parsers import option
from pgrecall.errors import InputError
from pgrecall.migrate.connecting import async_engine_of
from pgrecall.scoring.profile import Profile

app = App()


@app.function("pgrecall mcp --agent zoe", "pgrecall mcp --any-agent")
def mcp(
    database: Database,
    embedder: EmbedderName = None,
    find_entities: FindEntities = False,
    rerank: RerankerName = None,
    agent: Annotated[
        str | None,
        option("Agent whose memories a model sees.", "--agent", "-a", envvar=VARIABLES["agent"]),
    ] = None,
    any_agent: Annotated[
        bool, option("Let the model name the agent at each call.", "--any-agent")
    ] = False,
    profile: Annotated[
        Profile | str | None,
        option("How to rank.", "--profile", "-p", envvar=VARIABLES["profile"]),
    ] = None,
    timezone: Zone = None,
) -> None:
    """Serve an agent's memories to a model, by the Model Context Protocol.

    A client starts it and talks to it on standard input and output: write the command into the
    client's configuration. `pgrecall serve` does the same over HTTP.
    """
    if any_agent == (agent is not None):
        raise InputError("give --agent, or --any-agent to let the model name it, and not both")
    from pgrecall.mcp import memory_server

    async def serve(url: str) -> None:
        engine = async_engine_of(url, prepares=True)
        make = maker(database.schema, embedder, find_entities, rerank, timezone=timezone)
        try:
            await memory_server(make(engine), agent, profile=profile).run_stdio_async()
        finally:
            await engine.dispose()

    with database.engine() as engine:
        asyncio.run(serve(engine.url.render_as_string(hide_password=False)))
