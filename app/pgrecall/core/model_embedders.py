"""Embeddings of models that run in this process, and of an endpoint with OpenAI's API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from pgrecall.core.quoting import cut, shortened
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import EmbeddingFailed, ExtraMissing, InputError


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


_NO_KEY = "none"
"""The key of a client without one, which otherwise would not send a request."""


class OpenAIEmbedder:
    """Embeddings of OpenAI, or of any server with its API, such as Ollama, vLLM and LM Studio.

    `base_url` is where its API begins, such as http://localhost:11434/v1; by default the
    environment variable OPENAI_BASE_URL, or OpenAI. The environment variable that `key_variable`
    names has the key. `dimensions` asks for shorter vectors, if the model can make them. A request
    that takes longer than `timeout` seconds is sent again up to `max_retries` times.

    Raises ExtraMissing if the extra `openai` is not installed, and InputError if OpenAI itself has
    no key. Its methods raise EmbeddingFailed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        dimensions: int | None = None,
        batch_size: int = 128,
        timeout: float = 60.0,
        max_retries: int = 5,
    ) -> None:
        try:
            import openai
        except ImportError as problem:
            raise missing(self, "openai") from problem
        if type(batch_size) is not int or batch_size < 1:
            raise InputError(f"batch_size must be 1 or more, got {shortened(batch_size)}")
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(key_variable)
        if not (key or base_url):
            raise InputError(f"OpenAI needs a key: set the environment variable {key_variable}")
        self.model = model
        self._batch_size = batch_size
        self._client = openai.OpenAI(
            api_key=key or _NO_KEY,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
        )
        options: dict[str, Any] = {} if dimensions is None else {"dimensions": dimensions}
        create: Any = self._client.embeddings.create
        self._create = partial(create, model=model, encoding_format="float", **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        vectors: list[Sequence[float]] = []
        for begin in range(0, len(texts), self._batch_size):
            vectors += self._embedded(texts[begin : begin + self._batch_size])
        return vectors

    def embed_query(self, text: str) -> Sequence[float]:
        return self._embedded([text])[0]

    def _embedded(self, texts: list[str]) -> list[Sequence[float]]:
        from openai import APIError

        try:
            answer = self._create(input=texts)
            return [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        except APIError as error:
            status = f"status {code}: " if (code := getattr(error, "status_code", None)) else ""
            problem = status + error.message.replace(self._client.api_key, "…")
        except (AttributeError, TypeError, ValueError):  # how the client fails on other answers
            problem = "its answer has no embeddings; is base_url the beginning of its API?"
        # The error behind it may quote the key.
        raise EmbeddingFailed(f"{self._client.base_url.host}, {self.model}: {cut(problem)}")
