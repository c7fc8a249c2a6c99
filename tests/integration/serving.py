"""The service on a port, with keys, for tests that share it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from sqlalchemy import create_engine, make_url
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.types import ASGIApp

from pgrecall import AsyncMemoryRepository, MemoryRepository, migrate, pin_search_path
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.migrate.service_keys import Scope, create_key
from pgrecall.service.application import create_app
from pgrecall.service.gate import Gate
from pgrecall.service.service_settings import ServiceSettings
from pgrecall.service.shutdown import Connection

ROLE = "pgrecall_service"
TEA = "Ines drinks her tea without milk."
PROGRAM = Path(sys.executable).parent / "pgrecall"
MOST = 200_000
"""Bytes of a body."""


@dataclass(frozen=True)
class Service:
    """A running service, and its database."""

    url: str
    database_url: str
    repo: MemoryRepository
    """Of the schema's owner, whom no policy restricts."""
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def key(self, *owners: str, scope: Scope = "write") -> str:
        """The token of a new key."""
        engine: Any = self.repo._bind
        return create_key(engine, owners=owners, scope=scope)[1]

    def client(self, *owners: str, scope: Scope = "write") -> httpx.Client:
        """A client with a new key, or, for no owners, with none."""
        headers = {"Authorization": f"Bearer {self.key(*owners, scope=scope)}"} if owners else {}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=30)
        self.clients.append(made)
        return made


@contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The application on a port, or on a free one, in a thread."""
    server = uvicorn.Server(
        uvicorn.Config(
            app, port=port, http=Connection, log_level="warning", access_log=False, ws="none"
        )
    )
    failed: list[BaseException] = []

    def run() -> None:
        try:
            server.run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not server.started:
        assert not failed, failed
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def service_on(
    database_url: str, embedder: LocalEmbedder, reranker: Any = None, **settings: Any
) -> Iterator[Service]:
    """The service with keys on a migrated database."""
    url = make_url(database_url).set(drivername="postgresql+psycopg")
    written = url.render_as_string(hide_password=False)
    migrate.protect(written, ROLE)

    def repository(engine: AsyncEngine) -> AsyncMemoryRepository:
        return AsyncMemoryRepository(engine, embedder=embedder, reranker=reranker)

    given = {"keyed": True, "role": ROLE, "max_body": MOST, **settings}
    app = create_app(ServiceSettings(database_url=written, **given), repository)
    engine = pin_search_path(create_engine(url))
    with serving(app) as address:
        found = Service(address, written, MemoryRepository(engine, embedder=embedder))
        try:
            yield found
        finally:
            for client in found.clients:
                client.close()
            engine.dispose()


class Process(subprocess.Popen[str]):
    """`pgrecall serve`."""

    said: str = ""
    """What it said until it served."""


def started(*options: str) -> tuple[Process, str]:
    """`pgrecall serve` as a process, once it says that it serves, and its address."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    service = Process(
        [str(PROGRAM), "serve", *options],
        env=os.environ | {"PGRECALL_PORT": str(port), "PYTHONWARNINGS": "error"},
        stderr=subprocess.PIPE,
        text=True,
    )
    address = f"127.0.0.1:{port}"
    while f"Serving http://{address}" not in service.said:
        assert service.stderr is not None
        line = service.stderr.readline()
        assert line, service.said + service.communicate()[1]
        service.said += line
    assert httpx.get(f"http://{address}/ready", timeout=60).status_code == 200
    return service, address


def stop(service: subprocess.Popen[str]) -> None:
    """Ends it, and waits."""
    service.terminate()
    service.communicate(timeout=60)


def stored(client: httpx.Client, content: str = TEA, **fields: Any) -> str:
    answer = client.post("/memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def settings(**given: Any) -> ServiceSettings:
    return ServiceSettings(database_url="postgresql://", **{"keyed": False, **given})


class Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.running = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def gated(app: Any, **given: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(Gate(app, settings(**given), None))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")
