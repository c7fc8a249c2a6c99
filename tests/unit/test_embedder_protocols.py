from __future__ import annotations

import asyncio

import numpy as np
import pytest

from pgrecall.core.embedders import AsyncEmbedder, Embedder, LocalEmbedder, model_name
from tests.integration.compass import AsyncCompass, Compass


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


def test_an_embedder_is_told_by_its_methods() -> None:
    assert isinstance(Compass(), Embedder)
    assert not isinstance(Compass(), AsyncEmbedder)
    assert isinstance(AsyncCompass(), AsyncEmbedder)
    assert not isinstance(AsyncCompass(), Embedder)


@pytest.mark.parametrize(
    ("embedder", "name"),
    [(Compass(), "compass-1"), (object(), None), (type("Odd", (), {"model": 7})(), None)],
)
def test_the_models_name_is_read_where_there_is_one(embedder: object, name: str | None) -> None:
    assert model_name(embedder) == name


def test_the_local_embedder_makes_unit_vectors(local: LocalEmbedder) -> None:
    vectors = np.asarray(local.embed_documents(["one text", "another", "🙂"]))

    assert vectors.shape == (3, LocalEmbedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_the_local_embedder_treats_a_query_as_a_document(local: LocalEmbedder) -> None:
    [document] = np.asarray(local.embed_documents(["one text"]))

    assert np.asarray(local.embed_query("one text")) == pytest.approx(document)


def test_the_local_embedder_may_be_shared_by_threads(local: LocalEmbedder) -> None:
    async def main() -> list[object]:
        calls = [asyncio.to_thread(local.embed_query, f"text {i}") for i in range(20)]
        return list(await asyncio.gather(*calls))

    together = np.asarray(asyncio.run(main()))

    assert together == pytest.approx(
        np.asarray([local.embed_query(f"text {i}") for i in range(20)]), abs=1e-6
    )
