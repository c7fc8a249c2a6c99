"""Errors as answers: application/problem+json (RFC 9457), and the form of Memory OS under /v1."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from pgrecall import errors
from pgrecall.execution.error_mapping import psycopg_error

_LATER = (errors.DatabaseConflict, errors.DatabaseUnavailable, errors.DatabaseTimeout)
STATUSES: tuple[tuple[Any, int], ...] = (
    (errors.EmbedderMismatch, 503),
    (errors.InputError, 422),
    (errors.MemoryNotFound, 404),
    ((errors.DuplicateMemory, errors.SupersessionConflict), 409),
    (errors.EmbeddingFailed, 502),
    (errors.ExtraMissing, 501),
    ((*_LATER, errors.DatabaseReadOnly, errors.SchemaError), 503),
    (errors.PgRecallError, 500),
)
"""The first class that an error is one of decides."""

_logger = logging.getLogger(__name__)


class Problem(Exception):
    """A request that cannot be answered. `wrong` has its errors by field."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        error: errors.PgRecallError | None = None,
        retry_after: float | None = None,
        wrong: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.wrong = status, detail, wrong
        self.kind, self.title = "about:blank", HTTPStatus(status).phrase
        if error is not None:
            self.kind = f"urn:pgrecall:error:{type(error).__name__}"
            self.title = (error.__doc__ or "").partition("\n")[0]
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, round(retry_after)))

    def response(self, path: str) -> JSONResponse:
        """The answer to a request for this path."""
        if path.startswith(("/v1/", "/api/v1/")):
            return self._of_memory_os()
        body: dict[str, Any] = {"type": self.kind, "title": self.title}
        body |= {"status": self.status, "detail": self.detail}
        if self.wrong:
            body["errors"] = [{"field": f, "message": m} for f, m in self.wrong.items()]
        return JSONResponse(body, self.status, self.headers, "application/problem+json")

    def _of_memory_os(self) -> JSONResponse:
        status = 400 if self.status == 422 else self.status
        code = "VALIDATION_ERROR" if status == 400 else HTTPStatus(status).name
        error = {"code": code, "message": self.detail, "details": dict(self.wrong or {})}
        meta = {"request_id": f"req_{uuid4().hex}"}
        return JSONResponse({"error": error, "meta": meta}, status, self.headers)


def to_problem(error: Exception) -> Problem:
    """The client's view of an error, without the database's own messages."""
    match error:
        case Problem():
            return error
        case errors.PgRecallError():
            return _of_ours(error)
        case RequestValidationError():
            wrong = {".".join(map(str, one["loc"])): str(one["msg"]) for one in error.errors()}
            return Problem(422, f"cannot be used: {', '.join([*wrong][:4])}", wrong=wrong)
        case HTTPException():
            return Problem(error.status_code, str(error.detail))
    _logger.error("a request failed", exc_info=error)
    return Problem(500, "the service failed; its log has the reason")


def _of_ours(error: errors.PgRecallError) -> Problem:
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    if isinstance(error, errors.DatabaseError) and error.may_have_changed:
        status = 504  # a client that obeys Retry-After would make the change twice
    if status >= 500:
        _logger.warning("%s: %s", type(error).__name__, error)
    problem = Problem(status, str(error), error=error, retry_after=1 if status == 503 else None)
    if status >= 500 or _quotes_database(error):
        problem.detail = problem.title
    return problem


def _quotes_database(error: errors.PgRecallError) -> bool:
    """True if the message is PostgreSQL's. Our functions raise 22023 and PM001 and so on."""
    original = psycopg_error(error.__cause__)
    state = None if original is None else original.sqlstate
    return state is not None and state != "22023" and not state.startswith("PM")
