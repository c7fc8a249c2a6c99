"""The models of a command: --embedder or --vector, and --rerank."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.named_objects import make_reranker, named_object
from pgrecall.cli.parsers import option
from pgrecall.core.embedders import Embedder, LocalEmbedder
from pgrecall.core.entity_finding import capitalised_names
from pgrecall.core.quoting import shortened
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from pgrecall.execution import AsyncMemoryRepository

EmbedderName = Annotated[
    str | None,
    option(
        "Embedder, as MODULE:OBJECT, or with arguments, such as: "
        "\"pgrecall:OpenAIEmbedder('text-embedding-3-small')\". Default: the local model.",
        "--embedder",
        envvar=VARIABLES["embedder"],
        metavar="MODULE:OBJECT",
        show_default=False,
        rich_help_panel="Common",
    ),
]
RERANKER = option(
    "Reranker of the best hits: a function, as MODULE:OBJECT, or with arguments.",
    "--rerank",
    envvar=VARIABLES["rerank"],
    metavar="MODULE:OBJECT",
    show_default=False,
    rich_help_panel="Common",
)
RerankerName = Annotated[str | None, RERANKER]
Vector = Annotated[
    str | None,
    option(
        "Embedding of the text, made by you: a JSON list, or @FILE with one.",
        "--vector",
        metavar="JSON",
        show_default=False,
        rich_help_panel="Common",
    ),
]
FindEntities = Annotated[
    bool,
    option(
        "Find the entities of texts that come without any: known ones, and capitalised names.",
        "--find-entities",
        rich_help_panel="Common",
    ),
]
EMBEDDING = {"embedder": EmbedderName, "vector": Vector}
"""Parameter → its option, which stands beside the type of a repository that has it."""
EmbedsTexts = Annotated[MemoryRepository, EmbedderName]
"""The repository of a command that embeds texts."""
EmbedsOne = Annotated[MemoryRepository, EmbedderName, Vector]
"""The repository of a command that embeds one text, whose vector may be given instead."""


class FixedVector:
    """An embedder that knows the vector of one text."""

    def __init__(self, written: str) -> None:
        self._vector = vector(written)

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        return [self._vector] * len(texts)

    def embed_query(self, text: str) -> VectorLike:
        return self._vector


def vector(value: str) -> list[float]:
    """A vector written as a JSON list, or the one in a file after @."""
    try:
        text = Path(value[1:]).read_text(encoding="utf-8") if value[:1] == "@" else value
        numbers = json.loads(text)
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"--vector: {shortened(value)} cannot be read: {problem}") from None
    if not isinstance(numbers, list):
        raise InputError(f"--vector: write a JSON list of numbers, got {shortened(numbers)}")
    return numbers


def make_embedder(name: str | None, written: str | None = None) -> Embedder:
    """The embedder of a command."""
    if written is not None:
        return FixedVector(written)
    if name is None:
        return LocalEmbedder()
    is_one = lambda target: isinstance(target, Embedder)  # noqa: E731
    return named_object("--embedder", name, is_one)  # type: ignore[no-any-return]


def maker(
    schema: str,
    embedder: str | None,
    find_entities: bool = False,
    rerank: str | None = None,
    *,
    timezone: str | tzinfo | None = None,
) -> Callable[[AsyncEngine], AsyncMemoryRepository]:
    """A function that makes the repository of a server on an engine."""
    from pgrecall.execution import AsyncMemoryRepository

    def repository(engine: AsyncEngine) -> AsyncMemoryRepository:
        return AsyncMemoryRepository(
            engine,
            schema=schema,
            embedder=make_embedder(embedder),
            entities=capitalised_names if find_entities else None,
            reranker=None if rerank is None else make_reranker(rerank),
            timezone=timezone,
        )

    return repository
