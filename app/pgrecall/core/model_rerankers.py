"""Cross-encoders that run in this process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pgrecall.core.model_embedders import missing


class SentenceTransformersReranker:
    """A cross-encoder of sentence-transformers.

    `model` is its name or folder. `loaded` is the CrossEncoder if you have it already; if not, it
    is made with `options`, such as device="cuda", and may be downloaded.

    Raises ExtraMissing if the extra `sentence-transformers` is not installed.
    """

    def __init__(self, model: str, *, loaded: Any = None, **options: Any) -> None:
        self.model = model
        if loaded is None:
            try:
                from sentence_transformers import CrossEncoder
            except ImportError as problem:
                raise missing(self, "sentence-transformers") from problem
            loaded = CrossEncoder(model, **options)
        self._loaded = loaded

    def __call__(self, query: str, texts: list[str], /) -> Iterable[float]:
        values: Iterable[float] = self._loaded.predict([(query, text) for text in texts])
        return values


class FastEmbedReranker:
    """A cross-encoder of FastEmbed, by ONNX.

    `model` is its name. `loaded` is the TextCrossEncoder if you have it already; if not, it is made
    with `options`, such as cache_dir="models", and may be downloaded.

    Raises ExtraMissing if the extra `fastembed` is not installed.
    """

    def __init__(self, model: str, *, loaded: Any = None, **options: Any) -> None:
        self.model = model
        if loaded is None:
            try:
                from fastembed.rerank.cross_encoder import TextCrossEncoder
            except ImportError as problem:
                raise missing(self, "fastembed") from problem
            loaded = TextCrossEncoder(model, **options)
        self._loaded = loaded

    def __call__(self, query: str, texts: list[str], /) -> Iterable[float]:
        values: Iterable[float] = self._loaded.rerank(query, texts)
        return values
