"""What the commands that are called most load: it is most of the time they take."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository
from pgrecall.core.embedders import LocalEmbedder
from tests.unit.test_imports import LATE, MIGRATING, NUMPY, TRACING, loaded

CALL = """
import contextlib, io
from pgrecall.cli import main
sys.argv = {arguments}
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    main()
assert "Zoe plays the cello." in shown.getvalue()
"""
OTHERS = {"dateparser", "fastapi", "httpx", "mcp", "rich.progress", "wordllama"}
COMMON = {
    *("cli", "context", "core", "embedded", "errors", "execution", "memories", "migrate"),
    *("ranking", "schema", "scoring"),
}
SEARCHING = (COMMON - {"memories"}) | {"rank_index", "search"}
"""Packages of pgrecall. Of `migrate` it is the settings and what connects."""


@pytest.mark.parametrize(
    ("command", "packages"),
    [("list", COMMON), ("search cello", SEARCHING), ("context cello", SEARCHING - {"memories"})],
)
def test_commands_load_only_what_they_need(
    commands_url: str, agent: str, local_embedder: LocalEmbedder, command: str, packages: set[str]
) -> None:
    engine = create_engine(commands_url)
    MemoryRepository(engine, embedder=local_embedder).add(agent, "Zoe plays the cello.")
    engine.dispose()
    arguments = ["pgrecall", *command.split(), "--agent", agent, "--database-url", commands_url]

    [after] = loaded(CALL.format(arguments=arguments))

    reads_dates = {"dateparser"} if "cello" in command else set()
    assert after & (LATE | MIGRATING | NUMPY | TRACING | OTHERS) == reads_dates
    ours = {name.split(".")[1] for name in after if name.startswith("pgrecall.")}
    assert ours == packages
