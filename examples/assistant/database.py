"""The application's own table, and both schemas of its database."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

from alembic import command
from alembic.config import Config
from sqlalchemy import ARRAY, DateTime, Text, Uuid, func
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from pgrecall import migrate


class Base(DeclarativeBase):
    """What Alembic compares with the database."""


class Turn(Base):
    """A message, the reply to it, and the memories that were in the prompt."""

    __tablename__ = "turns"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[str] = mapped_column(Text, index=True)
    message: Mapped[str] = mapped_column(Text)
    reply: Mapped[str] = mapped_column(Text)
    memory_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    feedback: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


def upgrade(url: str) -> None:
    """Brings both schemas up to date: pgrecall's, and the application's own."""
    migrate.upgrade(url)
    command.upgrade(own_migrations(url), "head")


def own_migrations(url: str) -> Config:
    """Alembic's configuration for the application's own tables."""
    config = Config(Path(__file__).parent / "alembic.ini")
    config.attributes["url"] = url
    return config
