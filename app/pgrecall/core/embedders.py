"""Embedders turn text into vectors."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct
from typing import Any, Protocol, runtime_checkable

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import ExtraMissing

_FEW_CHARACTERS = 10_000
"""Fewer are embedded sooner than NumPy is imported."""
_AT_ONCE = 10_000
"""The most tokens whose vectors are copied."""


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


@dataclass(frozen=True, slots=True)
class Embedded:
    """One vector per text, and the name of the model that made them."""

    vectors: Sequence[VectorLike]
    model: str | None


class LocalEmbedder:
    """WordLlama's static embeddings of 256 dimensions. They come with its wheel: no download.

    Raises ExtraMissing if the extra `local` is not installed.
    """

    model = "wordllama-l2_supercat-256"
    dimensions = 256

    def __init__(self) -> None:
        spec = find_spec("wordllama")  # does not import it
        if spec is None or spec.origin is None:
            raise ExtraMissing("the local embedder needs wordllama: pip install 'pgrecall[local]'")
        self._folder = Path(spec.origin).parent

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        """One vector of unit length per text. A text has the same vector in every batch."""
        if sum(map(len, texts)) > _FEW_CHARACTERS:
            encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            return [self._at_unit_length(self._summed_at_once(one.ids)) for one in encoded]
        # Without threads, of which tokenizers warns when the process forks.
        few = (self._tokenizer.encode(text, add_special_tokens=False) for text in texts)
        return [self._at_unit_length(self._summed(one.ids)) for one in few]

    def embed_query(self, text: str) -> VectorLike:
        return self.embed_documents([text])[0]

    def _summed(self, ids: Sequence[int]) -> list[float]:
        """The sum of the tokens' vectors. It is exact, and so the same in any order: the weights
        are multiples of 2**-24, of which a float holds 2**53."""
        weights, begin = self._weights
        row = Struct(f"<{self.dimensions}e")
        rows = (row.unpack_from(weights, begin + token * row.size) for token in ids)
        return [*map(sum, zip(*rows, strict=True))] or [0.0] * self.dimensions

    def _summed_at_once(self, ids: Sequence[int]) -> list[float]:
        """The same by NumPy."""
        parts = (ids[begin : begin + _AT_ONCE] for begin in range(0, len(ids), _AT_ONCE))
        sums = [self._table[part].sum(axis=0, dtype="float64").tolist() for part in parts]
        return [*map(sum, zip(*sums, strict=True))] or [0.0] * self.dimensions

    @staticmethod
    def _at_unit_length(total: list[float]) -> list[float]:
        """Like WordLlama, but rounded once, to what the database stores."""
        length = math.hypot(*total) or 1.0
        return array("f", [component / length for component in total]).tolist()

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
    def _table(self) -> Any:
        """All weights, for many texts: several times as fast, after importing NumPy."""
        import numpy as np

        weights, begin = self._weights
        return np.frombuffer(weights, "<f2", offset=begin).reshape(-1, self.dimensions)


def model_name(embedder: object) -> str | None:
    """The embedder's name for its model: in LangChain's classes `model` or `model_name`."""
    names = (getattr(embedder, name, None) for name in ("model", "model_name"))
    return next((name for name in names if isinstance(name, str) and name), None)
