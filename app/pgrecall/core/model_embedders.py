"""Embeddings of models that run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import ExtraMissing


class SentenceTransformersEmbedder:
    """Embeddings of a sentence-transformers model, which may treat queries differently.

    `model` is its name or folder. `loaded` is the SentenceTransformer if you have it already; if
    not, it is made with `options`, such as device="cuda", and may be downloaded.

    Raises ExtraMissing if the extra `sentence-transformers` is not installed.
    """

    def __init__(self, model: str, *, loaded: Any = None, **options: Any) -> None:
        self.model = model
        if loaded is None:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as problem:
                raise missing(self, "sentence-transformers") from problem
            loaded = SentenceTransformer(model, **options)
        self._loaded = loaded

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        vectors: Sequence[VectorLike] = self._loaded.encode_document(texts)
        return vectors

    def embed_query(self, text: str) -> VectorLike:
        vector: VectorLike = self._loaded.encode_query(text)
        return vector


class FastEmbedEmbedder:
    """Embeddings of a FastEmbed model, by ONNX; the model may treat queries differently.

    `model` is its name. `loaded` is the TextEmbedding if you have it already; if not, it is made
    with `options`, such as cache_dir="models", and may be downloaded.

    Raises ExtraMissing if the extra `fastembed` is not installed.
    """

    def __init__(self, model: str, *, loaded: Any = None, **options: Any) -> None:
        self.model = model
        if loaded is None:
            try:
                from fastembed import TextEmbedding
            except ImportError as problem:
                raise missing(self, "fastembed") from problem
            loaded = TextEmbedding(model, **options)
        self._loaded = loaded

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        return list(self._loaded.passage_embed(texts))

    def embed_query(self, text: str) -> VectorLike:
        [vector] = self._loaded.query_embed(text)
        return vector  # type: ignore[no-any-return]


def missing(one: object, extra: str) -> ExtraMissing:
    """The error of an embedder or reranker whose extra is not installed."""
    return ExtraMissing(f"{type(one).__name__} needs {extra}: pip install 'pgrecall[{extra}]'")
