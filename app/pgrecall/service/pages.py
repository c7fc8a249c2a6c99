"""GET / and /docs: what this is, and a page about the requests, made from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

router = APIRouter(include_in_schema=False)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""Nothing is loaded, from nowhere, and no script runs."""
_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>pgrecall</title>
<style>body{{max-width:60em;margin:auto;padding:1em;font-family:sans-serif}}td{{padding-right:1em}}
td{{vertical-align:top}}</style>
<h1>pgrecall {version}</h1><p>{said} The same as JSON: <a href="openapi.json">openapi.json</a>.</p>
<ul>{contents}</ul>{operations}</html>
"""


@router.get("/")
async def root() -> Response:
    """The service's name and version, and its pages."""
    where = {"docs": "/docs", "openapi": "/openapi.json", "health": "/health", "mcp": "/mcp"}
    where["studio"] = "/studio"
    return JSONResponse({"service": "pgrecall", "version": version("pgrecall"), **where})


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The requests as a page."""
    document = request.app.openapi()
    every = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    contents = (
        f'<li><a href="#{place}">{method} {escape(path)}</a></li>'
        for place, (method, path, _) in enumerate(every)
    )
    operations = (
        f'<h2 id="{place}">{method} {escape(path)}</h2><p>{escape(one.get("summary", ""))}</p>'
        f"<table>{''.join(_rows(one, document['components']['schemas']))}</table>"
        for place, (method, path, one) in enumerate(every)
    )
    page = _PAGE.format(
        version=escape(version("pgrecall")),
        said=escape(document["info"]["description"]),
        contents="".join(contents),
        operations="".join(operations),
    )
    return HTMLResponse(page, headers=_HEADERS)


def _rows(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """A row for each parameter of the URL, and for each field of the body."""
    for one in operation.get("parameters", ()):
        yield _row(one["name"], one["schema"], one.get("description"), one.get("required", False))
    if body := operation.get("requestBody"):
        schema = schemas[body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
        for name, field in schema["properties"].items():
            required = name in schema.get("required", ())
            yield _row(name, field, field.get("description"), required)


def _row(name: str, schema: Mapping[str, Any], description: str | None, required: bool) -> str:
    cells = (name, _kind(schema), ("Required. " if required else "") + (description or ""))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a value in a few words."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "object")
