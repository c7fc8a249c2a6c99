"""Embedders that need no model: a text is a direction in degrees."""

from __future__ import annotations

from tests.integration.support import NORTH, at


class Compass:
    """Embeds "30" as the unit vector at 30 degrees, and keeps what it was asked."""

    model = "compass-1"

    def __init__(self) -> None:
        self.documents: list[list[str]] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents.append(texts)
        return [at(float(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return at(float(text))


class AsyncCompass:
    """A Compass with the asynchronous methods only."""

    model = "compass-1"

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [at(float(text)) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return at(float(text))


class BothCompass(Compass, AsyncCompass):
    """A Compass with both; the model tells which was used last."""


class Lossy(Compass):
    """Loses the last text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return super().embed_documents(texts)[:-1]


class Short(Compass):
    """Makes vectors of three dimensions."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0, 3.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 2.0, 3.0]


class Broken(Compass):
    """Fails as a remote model fails."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no answer from the model")


class North:
    """Embeds every text as NORTH."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [NORTH for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return NORTH
