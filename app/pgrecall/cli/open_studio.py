"""pgrecall studio"""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from dataclasses import replace
from typing import Annotated

from pgrecall.cli import demo as demo_
from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.database import Database
from pgrecall.cli.embedding import EmbedderName, RerankerName, make_embedder, maker
from pgrecall.cli.options import Zone
from pgrecall.cli.output import warnings
from pgrecall.cli.parsers import option
from pgrecall.cli.serve import configuration, of_tcp, require_service, run_here
from pgrecall.execution import MemoryRepository

app = App()
HOST = "127.0.0.1"


@app.function("pgrecall studio", "pgrecall studio --owner ines --no-browser")
def studio(
    database: Database,
    embedder: EmbedderName = None,
    rerank: RerankerName = None,
    owner: Annotated[
        str,
        option(
            "Owner to begin with; a team is team:NAME.",
            "--owner",
            "--agent",
            "-a",
            envvar=VARIABLES["agent"],
        ),
    ] = "default",
    demo: Annotated[bool, option("Store the demo's memories, and begin with them.")] = False,
    port: Annotated[int, option("Port to listen on. 0: a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[
        bool, option("Print the address, and open no browser.", "--no-browser")
    ] = False,
    timezone: Zone = None,
) -> None:
    """Open a page in the browser that shows how memories rank, and why.

    It listens on this machine alone, with a key that ends with it. Whoever has the address that is
    printed may do everything. Ctrl-C stops it.
    """
    require_service()
    from pgrecall.service.application import create_app
    from pgrecall.service.service_settings import ServiceSettings

    if demo:
        owner = demo_.AGENT
    with database.engine() as engine, of_tcp(socket.socket()) as listening:
        MemoryRepository(engine, schema=database.schema).owners(limit=1)  # is the schema there?
        if demo:
            with replace(database, embedder=make_embedder(embedder)).repository() as repo:
                demo_.store(repo)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        key = secrets.token_urlsafe(32)
        settings = ServiceSettings(
            database_url=engine.url.render_as_string(hide_password=False),
            keyed=False,
            run_key=key,
            schema=database.schema,
            agent=owner,
        )
        engine.dispose()
        made = maker(database.schema, embedder, rerank=rerank, timezone=timezone)
        address = f"http://{HOST}:{listening.getsockname()[1]}/studio#key={key}"

        def announce() -> None:
            said = f"The studio is at {address}\nCtrl-C stops it."
            warnings.print(said, soft_wrap=True, markup=False, highlight=False)
            if not no_browser:  # some browsers return only when they are closed
                threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()

        run_here(configuration(create_app(settings, made)), announce, [listening])
