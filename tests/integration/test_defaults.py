"""A default is the same in Python, psql, over HTTP, in MCP and on the command line, except for
EXCEPTIONS.

All are read from what is really there: signatures, the functions of a database, the OpenAPI
document of a running service, the schemas that an MCP server sends, and the commands.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import click
import pytest

pytest.importorskip("mcp")

from mcp.client.client import Client
from sqlalchemy import Engine
from typer.main import get_command

from pgrecall import Memory, MemoryRepository, NewMemory, RetentionPolicy, migrate
from pgrecall.cli.main import app
from tests.integration.serving import Service
from tests.integration.support import sql
from tests.integration.test_mcp import Compass, answer, talk
from tests.methods import NOWHERE, method, public

DOCS = Path(__file__).parents[2] / "docs"

EXCEPTIONS = {
    ("psql", "recall", "touch"): "looking must not change a ranking; readers may not write",
    ("psql", "*", "period"): "psql finds no dates in a text",
    ("psql", "*", "actor"): "psql knows who is connected",
    ("psql", "maintain", "dry_run"): "who calls it by hand sees first what it would do",
}
"""Where, function or tool, argument → why its default is another one. `docs/concepts.md` has them,
too. The interface of Memory OS, `/v1`, has the defaults of Memory OS."""

FUNCTIONS = {
    "recall": "search",
    "remember": "add",
    "new_memory": "add",
    "update_memory": "update",
    "record_feedback": "feedback",
    "link": "links.add",
    "unlink": "links.remove",
    "links": "links.of",
    "forget": "delete",
    "exported": "transfer.export",
    "restore_rows": "transfer.restore",
    "build_rank_index": "rank_indexes.build",
    "maintain": "maintenance.run",
    "drop_rank_index": "rank_indexes.drop",
    "rank_index_states": "rank_indexes.status",
    "judge": "evaluation.judge",
    "judged_queries": "evaluation.judged_queries",
}
"""Function → the method that does the same, unless it has this name, alone or in a namespace."""
OTHERWISE = {"most": "limit", "k": "limit", "order_by": "order", "with_events": "events"}
"""Argument of a function → that of the method, unless it has this name."""
ONLY_IN_PSQL = {
    "default_profile": {"otherwise"},
    "health": {"at_least", "max_age"},
    "maintain": {"within_seconds", "policy"},
    "rank_index_states": {"max_beside", "max_age"},
    "touch": {"accessed", "durable"},
}
"""Arguments with a default that is not empty, for which methods have no argument or None."""

REQUESTS = {
    "POST /memories": "add",
    "PUT /memories": "upsert",
    "POST /memories/batch": "add_many",
    "GET /memories": "list",
    "GET /memories/by-key": "get",
    "GET /memories/{memory_id}": "get",
    "PATCH /memories/{memory_id}": "update",
    "DELETE /memories/{memory_id}": "delete",
    "GET /memories/{memory_id}/history": "history",
    "POST /memories/{memory_id}/supersede": "supersede",
    **{
        f"POST /memories/{{memory_id}}/{name.rpartition('.')[2]}": name
        for name in ("invalidate", "revive", "approve", "reject")
    },
    "GET /memories/{memory_id}/links": "links.of",
    "POST /judgements": "evaluation.judge",
    "GET /judgements": "evaluation.judged_queries",
    "POST /evaluate": "evaluation.evaluate",
    "POST /search": "search",
    "POST /context": "context",
    "POST /explain": "explain",
    "POST /feedback": "feedback",
    "POST /outcomes": "record_outcome",
    "GET /owners": "owners",
}
OF_THE_SERVICE = {
    "/candidates",
    "/key",
    "/profiles",
    "/status",
    "/metrics",
    "/health",
    "/ready",
}
TOOLS = {
    "remember": "add",
    "recall": "search",
    "recall_context": "context",
    "feedback": "feedback",
    "correct": "supersede",
    "forget": "delete",
    "list_memories": "list",
}
COMMANDS = {
    "judge": "evaluation.judge",
    "outcome": "record_outcome",
    "trust": "adjust_trust",
    "maintain": "maintenance.run",
    "link": "links.add",
    "unlink": "links.remove",
    "links": "links.of",
}
"""Command → the method that it calls, unless it has this name, alone or in a namespace."""
MADE = {"id", "agent_id", "embedding_model", "tokens", "created_at", "updated_at"}
"""Fields that are made anew for each memory, or that psql has no embedder and no counter for."""
MEMORY = {field.name for field in fields(NewMemory)}


def normal(value: Any) -> Any:
    """The value as all four can write it. Nothing, UNSET and what is empty are the same."""
    match value:
        case Enum() | None | () | [] | "":
            return None
        case dict():
            return value or None
        case list() | tuple():
            return [*map(normal, value)]
        case bool() | str():
            return value
        case int() | float() | Decimal():
            return float(value)
    return value


def defaults_in(function: Any) -> dict[str, Any]:
    """The arguments of a function, with their defaults."""
    return {
        one.name: None if one.default is one.empty else normal(one.default)
        for one in inspect.signature(function).parameters.values()
    }


def defaults_of(name: str) -> dict[str, Any]:
    """The arguments of a method, and of what it takes, with their defaults."""
    found = defaults_in(method(NOWHERE, name))
    if "policy" in found:
        found |= {field.name: normal(field.default) for field in fields(RetentionPolicy)}
        found["policy"] = found["name"]
    return found


Compared = Iterable[tuple[str, dict[str, Any], dict[str, Any]]]
"""Name of a function, request or tool; its defaults, by argument; those of Python."""


def agree(where: str, compared: Compared) -> None:
    """Fails for a default that is not that of Python, and for an exception that is none."""
    wrong = []
    met = set()
    for name, there, defaults in compared:
        for argument, default in there.items():
            if normal(default) == defaults.get(argument):
                continue
            excepted = {(where, name, argument), (where, "*", argument)} & EXCEPTIONS.keys()
            met |= excepted
            is_flag = default is False and argument not in defaults
            if not excepted and not is_flag:
                wrong.append(f"{name}, {argument}: {default!r}, not {defaults.get(argument)!r}")

    assert not wrong, "\n".join(["", *wrong])
    assert met == {one for one in EXCEPTIONS if one[0] == where}


def in_database(engine: Engine) -> dict[str, dict[str, Any]]:
    """The arguments of all functions, with their defaults."""
    rows = sql(
        engine,
        """
        SELECT p.proname, p.proargnames[n], pg_get_function_arg_default(p.oid, n)
          FROM pg_proc p CROSS JOIN generate_series(1, p.pronargs) n
         WHERE p.pronamespace = 'pgrecall'::regnamespace
           AND coalesce(p.proargmodes[n], 'i') = 'i'
        """,
    )
    found: dict[str, dict[str, Any]] = {}
    for name, argument, default in rows:
        made = found.setdefault(name, {})
        made[argument] = None if default is None else sql(engine, f"SELECT {default}")[0][0]
    return found


def of_psql(engine: Engine) -> Compared:
    there = in_database(engine)
    methods = {name.rpartition(".")[2]: name for name in public(NOWHERE)} | FUNCTIONS
    text = (DOCS / "reference" / "sql.md").read_text(encoding="utf-8")
    for function in " ".join(re.findall(r"<!-- functions: (.*?) -->", text)).split():
        defaults = {}
        if function in methods:
            defaults = defaults_of(methods[function])
        elif hasattr(migrate, function):
            defaults = defaults_in(getattr(migrate, function))
        named = {
            argument if argument in defaults else OTHERWISE.get(argument, argument): default
            for argument, default in there.get(function, {}).items()
            if argument not in ONLY_IN_PSQL.get(function, ())
        }
        if "content" in named:  # NULL is a field that is not given
            named = {name: one for name, one in named.items() if name not in MEMORY}
        yield function, named, defaults


def test_psql_has_the_defaults_of_python(engine: Engine) -> None:
    agree("psql", of_psql(engine))


def of_http(document: Any) -> Compared:
    for path, operations in document["paths"].items():
        if path in OF_THE_SERVICE:
            continue
        for verb, operation in operations.items():
            request = f"{verb.upper()} {path}"
            there = {one["name"]: one["schema"] for one in operation.get("parameters", ())}
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                name = schema["$ref"].rpartition("/")[2]
                there |= document["components"]["schemas"][name]["properties"]
            told = {name: one.get("default") for name, one in there.items()}
            yield request, told, defaults_of(REQUESTS[request])


def test_http_has_the_defaults_of_python(service: Service) -> None:
    agree("HTTP", of_http(service.client().get("/openapi.json").json()))


def test_a_model_has_the_defaults_of_python(shared_url: str) -> None:
    there: dict[str, dict[str, Any]] = {}

    async def said(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            schema = tool.input_schema["properties"]
            there[tool.name] = {name: one.get("default") for name, one in schema.items()}

    talk(shared_url, "agent", said)
    there["recall"]["k"] = there["recall"].pop("limit")
    agree("MCP", ((tool, told, defaults_of(TOOLS[tool])) for tool, told in there.items()))


def of_commands() -> Compared:
    methods = {name.rpartition(".")[2].replace("_", "-"): name for name in public(NOWHERE)}
    group: Any = get_command(app)
    index = group.get_command(click.Context(group), "index")
    for within in (group, index):
        for name in within.list_commands(click.Context(within)):
            command = within.get_command(click.Context(within), name)
            if called := (methods | COMMANDS).get(name):
                told = {
                    one.name: one.default
                    for one in command.params
                    if one.name in defaults_of(called) and one.default is not None
                }
                yield name, told, defaults_of(called)


def test_the_command_line_has_the_defaults_of_python() -> None:
    """An option without a default is passed on only if it is given."""
    agree("the command line", of_commands())


def test_a_text_alone_is_stored_the_same(
    shared_engine: Engine, shared_url: str, service: Service, agent: str
) -> None:
    """A default that is NULL in psql is that of Python, too."""
    content = "Ines drinks tea."

    async def said(client: Client) -> None:
        await answer(client, "remember", content=content)

    repo = MemoryRepository(shared_engine, embedder=Compass())
    repo.add(agent, content)
    by_sql = "SELECT pgrecall.remember(:agent, :content)"
    sql(shared_engine, by_sql, agent=f"{agent} psql", content=content)
    talk(shared_url, f"{agent} mcp", said)
    service.client(agent).post("/memories", json={"content": content}).raise_for_status()

    [expected] = repo.list(agent)
    others = (repo.list(f"{agent} psql"), repo.list(f"{agent} mcp"), service.repo.list(agent))
    for [found] in others:
        for field in fields(Memory):
            if field.name not in MADE:
                there, here = getattr(found, field.name), getattr(expected, field.name)
                assert there == here, (found.agent_id, field.name)


def test_the_exceptions_are_in_the_documentation() -> None:
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    section = text.partition("## Defaults")[2].partition("\n## ")[0]
    for where, name, argument in EXCEPTIONS:
        shown = " " if name == "*" else f" `{name}` "
        assert f"| {where} |{shown}| `{argument}` |" in section
