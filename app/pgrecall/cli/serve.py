"""pgrecall serve"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from inspect import signature
from ipaddress import ip_address
from typing import Annotated, Any

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.database import Database
from pgrecall.cli.embedding import EmbedderName, FindEntities, RerankerName, maker
from pgrecall.cli.options import Zone
from pgrecall.cli.output import warnings
from pgrecall.cli.parsers import option
from pgrecall.errors import ExtraMissing, InputError
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.access import require_policies
from pgrecall.migrate.service_keys import list_keys

app = App()
ROLE = "pgrecall_service"
SETTINGS = "PGRECALL_SERVICE_SETTINGS"
"""The variable by which workers get them."""
KEEP_ALIVE_SECONDS, GRACE_SECONDS = 30, 30

Port = Annotated[int, option("Port to listen on.", envvar="PGRECALL_PORT", min=1, max=65535)]


@app.function(
    "pgrecall serve",
    "pgrecall serve --host 0.0.0.0 --port 8080 --workers 2 --role pgrecall_service",
)
def serve(
    database: Database,
    embedder: EmbedderName = None,
    find_entities: FindEntities = False,
    rerank: RerankerName = None,
    host: Annotated[str, option("Address to listen on.", envvar="PGRECALL_HOST")] = "127.0.0.1",
    port: Port = 8080,
    workers: Annotated[int, option("Processes.", min=1, max=64)] = 1,
    concurrency: Annotated[
        int, option("Requests a worker answers at a time, each on its own connection.", min=1)
    ] = 8,
    timeout: Annotated[float, option("Seconds for reading and for answering.", min=0.1)] = 30.0,
    max_body: Annotated[int, option("Bytes of a request's body.", min=1)] = 8 * 1024 * 1024,
    role: Annotated[
        str | None,
        option(
            f"Role that requests run as, such as {ROLE}. Default: the one that connects.",
            envvar="PGRECALL_ROLE",
        ),
    ] = None,
    without_keys: Annotated[
        bool, option("Let every program on this machine in, though keys were made.", "--open")
    ] = False,
    agent: Annotated[
        str,
        option("Owner of requests that name none.", "--agent", "-a", envvar=VARIABLES["agent"]),
    ] = "default",
    timezone: Zone = None,
) -> None:
    """Serve HTTP, to this machine alone until there is a key; see `pgrecall keys create`.

    GET /openapi.json describes the requests. With the extra mcp, /mcp gives models tools to
    remember and recall. SIGTERM stops it once all requests are answered.
    """
    require_service()
    from pgrecall.service.service_settings import ServiceSettings

    with database.engine() as engine:
        url = engine.url.render_as_string(hide_password=False)
        keys = list_keys(engine, schema=database.schema)
        keyed = bool(keys) and not without_keys
        if not keyed:
            require_loopback(host)
        elif role is None and not database.url_option:
            role = ROLE
            migrate.protect(url, role, schema=database.schema)
        if keyed:
            with map_errors(), engine.connect() as connection:
                require_policies(connection, database.schema, role)
        settings = ServiceSettings(
            database_url=url,
            keyed=keyed,
            schema=database.schema,
            role=role,
            agent=agent,
            max_body=max_body,
            timeout=timeout,
            concurrency=concurrency,
        )
        os.environ[SETTINGS] = json.dumps(
            [asdict(settings), embedder, find_entities, rerank, timezone and str(timezone)]
        )
        engine.dispose()
        in_use = any(one["revoked_at"] is None for one in keys)
        launch(host, port, workers, partial(_announce, host, port, keyed, in_use))


def _announce(host: str, port: int, keyed: bool, in_use: bool) -> None:
    who = "from every program on this machine, and from no other, without a key"
    if keyed:
        who = "with a key"
        if not in_use:
            who += ", but every key is revoked: create one with `pgrecall keys create`"
    shown = f"[{host}]" if ":" in host else host
    warnings.print(
        f"Serving http://{shown}:{port} {who}. Ctrl-C stops it.", soft_wrap=True, markup=False
    )


def require_service() -> None:
    """Raises ExtraMissing without the extra `service`."""
    try:
        import_module("pgrecall.service.application")
    except ImportError as missing:
        raise ExtraMissing("to serve HTTP: pip install 'pgrecall[service]'") from missing


def require_loopback(host: str) -> None:
    """Raises InputError unless only this machine reaches the host."""
    try:
        reachable = not ip_address(host).is_loopback
    except ValueError:
        reachable = host != "localhost"
    if reachable:
        raise InputError(
            f"requests need no key, and others can reach {host}: create a key with "
            "`pgrecall keys create` and leave out --open, or use --host 127.0.0.1"
        )


def launch(host: str, port: int, workers: int, announce: Callable[[], None]) -> None:
    """Serves until SIGTERM or SIGINT; then takes no more requests and answers those it has.
    Announces it once the port takes connections."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="pgrecall-metrics-") as folder:
        if workers > 1:  # read when a worker imports prometheus_client
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            os.environ["PYTHONSAFEPATH"] = "1"  # or workers import what lies in the working folder
        place = f"{__name__}:application"
        config = configuration(place, factory=True, host=host, port=port, workers=workers)
        if workers == 1:
            run_here(config, announce)
            return
        listening = of_tcp(config.bind_socket())
        listening.listen(config.backlog)
        announce()
        takes_target = "target" in signature(Multiprocess).parameters  # in older versions
        more = {"target": uvicorn.Server(config).run} if takes_target else {}
        with suppress(KeyboardInterrupt):
            Multiprocess(config, sockets=[listening], **more).run()


def of_tcp(made: socket.socket) -> socket.socket:
    """The socket, which now says that it is of TCP. Only then does asyncio send small parts of an
    answer at once; else each waits for an acknowledgement, which takes 40 ms."""
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, made.detach())


def configuration(application: Any, **more: Any) -> Any:
    """The configuration of a server of ours."""
    import uvicorn

    from pgrecall.service.shutdown import Connection

    return uvicorn.Config(
        application,
        http=Connection,
        loop="asyncio",  # psycopg adds and removes a reader per query: uvloop takes longer
        access_log=False,
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
        ws="none",
        **more,
    )


def run_here(
    config: Any, announce: Callable[[], None], sockets: list[socket.socket] | None = None
) -> None:
    """Serves in this process until SIGTERM or SIGINT; exits with 1 if it cannot."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                announce()

    server = Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(1)


def application() -> Any:
    """The application of a worker, which is a process of its own."""
    from pgrecall.service.application import create_app
    from pgrecall.service.service_settings import ServiceSettings

    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # or the SDK of MCP does it
    values, name, find_entities, rerank, timezone = json.loads(os.environ[SETTINGS])
    settings = ServiceSettings(**values)
    return create_app(
        settings, maker(settings.schema, name, find_entities, rerank, timezone=timezone)
    )
