"""Embedders turn text into vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import ExtraMissing


@runtime_checkable
class Embedder(Protocol):
    """The two methods of LangChain's `Embeddings`, so any of these can be passed unchanged.

    Memories are embedded by `embed_documents`, queries by `embed_query`; a model may treat them
    differently. If the embedder has an attribute `model`, it is stored with each memory as
    `embedding_model`.
    """

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]: ...

    def embed_query(self, text: str) -> VectorLike: ...


@runtime_checkable
class AsyncEmbedder(Protocol):
    """The same methods as coroutines; AsyncMemoryRepository prefers them if they exist."""

    async def aembed_documents(self, texts: list[str]) -> Sequence[VectorLike]: ...

    async def aembed_query(self, text: str) -> VectorLike: ...


class LocalEmbedder:
    """WordLlama's static embeddings of 256 dimensions. They come with its wheel: no download.

    Raises ExtraMissing if the extra `local` is not installed.
    """

    model = "wordllama-l2_supercat-256"
    dimensions = 256

    def __init__(self) -> None:
        if find_spec("wordllama") is None:
            raise ExtraMissing("the local embedder needs wordllama: pip install 'pgrecall[local]'")

    @cached_property
    def _model(self) -> Any:
        """Imported and loaded on first use: that takes 0.3 s, and many commands need neither."""
        wordllama = _wordllama()
        # By default, WordLlama looks for the tokenizer in the wrong folder of its package and then
        # downloads it. With the package folder as cache_dir it finds the file.
        return wordllama.WordLlama.load(
            cache_dir=Path(wordllama.__file__).parent,
            dim=self.dimensions,
            disable_download=True,
        )

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        """One vector of unit length per text."""
        vectors: Sequence[VectorLike] = self._model.embed(texts, norm=True)
        return vectors

    def embed_query(self, text: str) -> VectorLike:
        return self.embed_documents([text])[0]


def model_name(embedder: object) -> str | None:
    """The value to store as embedding_model."""
    name = getattr(embedder, "model", None)
    return name if isinstance(name, str) else None


def _wordllama() -> Any:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        import wordllama
    finally:
        root.handlers[:], root.level = handlers, level  # the import reconfigures the root logger
    return wordllama
