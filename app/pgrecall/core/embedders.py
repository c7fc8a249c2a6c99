"""Embedders turn text into vectors."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct
from typing import Any, Protocol, runtime_checkable

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import ExtraMissing

_FEW_CHARACTERS = 10_000
"""Fewer are embedded sooner than WordLlama is imported."""


@runtime_checkable
class Embedder(Protocol):
    """The two methods of LangChain's `Embeddings`, so any of these can be passed unchanged.

    Memories are embedded by `embed_documents`, queries by `embed_query`; a model may treat them
    differently. The name of its model, in an attribute `model` or `model_name`, is stored with each
    memory as `embedding_model`, and the schema takes no embeddings of another model.
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
        found = find_spec("wordllama")  # does not import it
        if found is None or found.origin is None:
            raise ExtraMissing("the local embedder needs wordllama: pip install 'pgrecall[local]'")
        self._folder = Path(found.origin).parent

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        """One vector of unit length per text."""
        if "_wordllama" not in vars(self) and sum(map(len, texts)) <= _FEW_CHARACTERS:
            return [self._embedded(text) for text in texts]
        vectors: Sequence[VectorLike] = self._wordllama.embed(texts, norm=True)
        return vectors

    def embed_query(self, text: str) -> VectorLike:
        return self.embed_documents([text])[0]

    def _embedded(self, text: str) -> list[float]:
        """What WordLlama does: the mean of the tokens' vectors, at unit length."""
        weights, begin = self._weights
        row = Struct(f"<{self.dimensions}e")
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        rows = (row.unpack_from(weights, begin + token * row.size) for token in tokens)
        total: list[float] = [*map(sum, zip(*rows, strict=True))] or [0.0] * self.dimensions
        length = math.hypot(*total) or 1.0
        return [component / length for component in total]

    @cached_property
    def _tokenizer(self) -> Any:
        import tokenizers

        file = self._folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        return tokenizers.Tokenizer.from_file(str(file))

    @cached_property
    def _weights(self) -> tuple[mmap, int]:
        """The mapped file, and where in it the vector of the first token begins."""
        with (self._folder / "weights" / "l2_supercat_256.safetensors").open("rb") as file:
            weights = mmap(file.fileno(), 0, access=ACCESS_READ)
        return weights, 8 + int.from_bytes(weights[:8], "little")  # a header, after its length

    @cached_property
    def _wordllama(self) -> Any:
        """WordLlama itself, for many texts: six times as fast, after 0.3 s of importing NumPy and
        others and of loading all weights."""
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        try:
            import wordllama
        finally:
            # The import reconfigures the root logger.
            root.handlers[:], root.level = handlers, level
        # By default, WordLlama looks for the tokenizer in the wrong folder of its package and then
        # downloads it. With the package folder as cache_dir it finds the file.
        return wordllama.WordLlama.load(
            cache_dir=self._folder, dim=self.dimensions, disable_download=True
        )


def model_name(embedder: object) -> str | None:
    """What an embedder calls its model; LangChain's classes call it `model` or `model_name`."""
    names = (getattr(embedder, name, None) for name in ("model", "model_name"))
    return next((name for name in names if isinstance(name, str) and name), None)
