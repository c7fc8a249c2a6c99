"""pgrecall mcp"""

from __future__ import annotations

from typing import Annotated

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.written import option
from pgrecall.errors import InputError
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import DEFAULT

app = App(panel="Serve")


@app.declare("pgrecall mcp --agent zoe", "pgrecall mcp --any-agent")
def mcp(
    repo: EmbedsTexts,
    agent: Annotated[
        str | None,
        option("Agent whose memories a model sees.", "--agent", "-a", envvar=VARIABLES["agent"]),
    ] = None,
    any_agent: Annotated[
        bool, option("Let the model name the agent at each call.", "--any-agent")
    ] = False,
    profile: Annotated[
        Profile | None,
        option(
            f"How to rank. Default: {DEFAULT.name}.",
            "--profile",
            "-p",
            envvar=VARIABLES["profile"],
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve an agent's memories to a model over the Model Context Protocol, on standard input and
    output.

    A client starts it: write the command into the client's configuration.
    """
    if any_agent == (agent is not None):
        raise InputError("give --agent, or --any-agent to let the model name it, and not both")
    from pgrecall.mcp import memory_server

    memory_server(repo, agent, profile=profile or DEFAULT).run("stdio")
