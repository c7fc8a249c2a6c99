"""Embedders: what turns text into vectors."""

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
    """The two methods of LangChain's `Embeddings`, so that any of those can be passed as it is.

    Models that treat questions and passages differently tell them apart by the method called.
    A `model` attribute, where there is one, is stored with each memory as `embedding_model`.
    """

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]: ...

    def embed_query(self, text: str) -> VectorLike: ...


@runtime_checkable
class AsyncEmbedder(Protocol):
    """The asynchronous methods; AsyncMemoryRepository prefers them where an embedder has them."""

    async def aembed_documents(self, texts: list[str]) -> Sequence[VectorLike]: ...

    async def aembed_query(self, text: str) -> VectorLike: ...


class LocalEmbedder:
    """WordLlama's 256-dimensional static embeddings, loaded from its wheel; nothing is downloaded.

    Raises ExtraMissing when the `local` extra is not installed.
    """

    model = "wordllama-l2_supercat-256"
    dimensions = 256

    def __init__(self) -> None:
        if find_spec("wordllama") is None:
            raise ExtraMissing("the local embedder needs wordllama: pip install 'pgrecall[local]'")

    @cached_property
    def _model(self) -> Any:
        """Imported and loaded at first use, 0.3 seconds that many commands do without."""
        wordllama = _wordllama()
        # Its loader looks for the tokenizer in the wrong folder of the package and would go to
        # the network; as cache_dir the package's own folder is searched correctly.
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
    """What to store as embedding_model."""
    name = getattr(embedder, "model", None)
    return name if isinstance(name, str) else None


def _wordllama() -> Any:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        import wordllama
    finally:
        root.handlers[:], root.level = handlers, level  # importing it configures all logging
    return wordllama
