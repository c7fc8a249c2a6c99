"""The OpenAPI document: FastAPI's, with the errors that are really sent."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from pgrecall.service.answers import ProblemAnswer
from pgrecall.service.bodies import COMPONENTS, SHOWN
from pgrecall.service.gate import is_public

_MEANINGS = {
    400: "The request cannot be read",
    401: "No valid key",
    403: "The key is not for this owner, or may not do this",
    404: "The owner has no such memory",
    408: "The body took too long to arrive",
    409: "It contradicts another memory",
    413: "The body is too large",
    415: "The body is not JSON",
    421: "Without keys, the service is addressed as localhost only",
    422: "A value cannot be used",
    501: "It needs an extra that is not installed",
    503: "Overloaded, or without a database: try again later",
    504: "It took too long",
}
_BEARER = {"type": "http", "scheme": "bearer", "description": "A token of `pgrecall keys create`."}


def errors() -> dict[int | str, dict[str, Any]]:
    """The errors of a router, for its argument `responses`."""
    return {
        status: {"model": ProblemAnswer, "description": text} for status, text in _MEANINGS.items()
    }


class DocumentedApp(FastAPI):
    """FastAPI, which takes every error for application/json."""

    def openapi(self) -> dict[str, Any]:
        """The document, made once."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        document["components"]["securitySchemes"] = {"key": _BEARER}
        schemas = document["components"]["schemas"]
        for name, schema in schemas.items():
            if not name.endswith("Answer"):  # errors quote what was sent
                _refuse_nul(schema)
            _narrow(schema)
        schemas |= COMPONENTS
        for path, methods in document["paths"].items():
            for operation in methods.values():
                _refuse_nul(operation.get("parameters"))
                operation["security"] = [] if is_public(path) else [{"key": []}]
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        as_json = response["content"].pop("application/json")
                        response["content"]["application/problem+json"] = as_json
        return document


def _narrow(schema: Any) -> None:
    """Moves what texts must have into the alternative that is a text: generators of clients take
    a schema without a type beside `anyOf` for one more alternative, which anything fits."""
    if isinstance(schema, dict):
        if schema.get("allOf") == SHOWN and "anyOf" in schema:
            del schema["allOf"]
            for one in schema["anyOf"]:
                if one.get("type") == "string":
                    one["allOf"] = SHOWN
        schema = [*schema.values()]
    for part in schema if isinstance(schema, list) else ():
        _narrow(part)


def _refuse_nul(schema: Any) -> None:
    """Adds to every schema of a text in this one that it has no NUL, which cannot be stored."""
    if isinstance(schema, dict):
        if schema.get("type") == "string" and not schema.keys() & {"enum", "format", "pattern"}:
            schema["not"] = {"pattern": r"\x00"}
        schema = [*schema.values()]
    for part in schema if isinstance(schema, list) else ():
        _refuse_nul(part)
