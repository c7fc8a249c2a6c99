"""The application: requests, and maintenance beside them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated
from uuid import UUID

from fastapi import Body, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import create_async_engine

from assistant.assistant import Assistant, Feedback, Model, fake_model
from pgrecall.errors import InputError, PgRecallError

NIGHTLY = 24 * 60 * 60.0
_logger = logging.getLogger(__name__)


class Reply(BaseModel):
    """A reply, and the number of memories that it rests on."""

    turn_id: UUID
    reply: str
    memories: int


def create_app(url: str, model: Model = fake_model) -> FastAPI:
    """The application, on a database that has been upgraded."""
    engine = create_async_engine(url)
    assistant = Assistant(engine, model)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        maintenance = asyncio.create_task(_tidy_nightly(assistant))
        yield
        maintenance.cancel()
        with suppress(asyncio.CancelledError):
            await maintenance
        await engine.dispose()

    app = FastAPI(title="Assistant", lifespan=lifespan)

    @app.post("/users/{user_id}/messages")
    async def reply(user_id: str, message: Annotated[str, Body(embed=True)]) -> Reply:
        """Real applications take the user from a session."""
        turn = await assistant.reply(user_id, message)
        return Reply(turn_id=turn.id, reply=turn.reply, memories=len(turn.memory_ids))

    @app.post("/turns/{turn_id}/feedback", status_code=204)
    async def judge(turn_id: UUID, feedback: Annotated[Feedback, Body(embed=True)]) -> None:
        if not await assistant.judge(turn_id, feedback):
            raise HTTPException(404, "there is no such turn")

    @app.exception_handler(InputError)
    async def refused(_: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    return app


async def _tidy_nightly(assistant: Assistant) -> None:
    while True:
        try:
            await assistant.tidy()
        except PgRecallError:
            _logger.exception("maintenance failed, and will be tried again")
        await asyncio.sleep(NIGHTLY)
