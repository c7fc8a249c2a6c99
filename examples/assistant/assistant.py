"""What the assistant does: it replies, learns, and looks after what it has learned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from assistant.database import Turn
from pgrecall import AsyncMemoryRepository, LocalEmbedder

Feedback = Literal["useful", "not_useful", "outdated", "incorrect"]


@dataclass(frozen=True)
class Completion:
    """What a model returns: its reply, and what is worth remembering of the message."""

    reply: str
    learned: list[str]


Model = Callable[[str, str], Awaitable[Completion]]
"""Called with instructions and a user's message."""


async def fake_model(instructions: str, message: str) -> Completion:
    """In place of a language model: repeats its instructions, and learns every statement."""
    if message.endswith("?"):
        return Completion(instructions, [])
    return Completion("I will remember that.", [message])


class Assistant:
    """Each user is an agent of pgrecall, so that nobody is told the memories of another."""

    def __init__(self, engine: AsyncEngine, model: Model) -> None:
        self._engine, self._model = engine, model
        self._embedder = LocalEmbedder()
        self._memories = AsyncMemoryRepository(engine, embedder=self._embedder)

    async def reply(self, user_id: str, message: str) -> Turn:
        """Replies to a message. The turn is stored together with what was learned of it."""
        context = await self._memories.context(user_id, message, max_tokens=500)
        known = f"You know this of the user:\n{context.text}"
        completion = await self._model(known, message)  # no transaction is open meanwhile
        used = [packed.hit.memory.id for packed in context.packed]
        turn = Turn(user_id=user_id, message=message, reply=completion.reply, memory_ids=used)
        async with AsyncSession(self._engine, expire_on_commit=False) as session, session.begin():
            session.add(turn)
            await session.flush()  # gives the turn its id
            memories = self._memories_in(session)
            await memories.add_many(user_id, completion.learned, run=str(turn.id))
        return turn

    async def judge(self, turn_id: UUID, feedback: Feedback) -> bool:
        """Records feedback on a reply, and on each memory that was in its prompt.

        Only the first counts, so a client may retry. Returns whether there is such a turn.
        """
        async with AsyncSession(self._engine) as session, session.begin():
            turn = await session.get(Turn, turn_id, with_for_update=True)
            if turn is not None and turn.feedback is None:
                turn.feedback = feedback
                memories = self._memories_in(session)
                known = await memories.get_many(turn.user_id, turn.memory_ids)
                for memory_id in sorted(known):  # in one order, so that no two wait for each other
                    await memories.feedback(turn.user_id, memory_id, feedback, query=turn.message)
            return turn is not None

    async def tidy(self) -> None:
        """Archives what has expired, and indexes the memories of users who have very many.

        Several processes may do this at once. If it is interrupted, nothing is lost.
        """
        await self._memories.maintenance.run()

    def _memories_in(self, session: AsyncSession) -> AsyncMemoryRepository:
        """The memories, within the transaction of a session."""
        return AsyncMemoryRepository(session, embedder=self._embedder)
