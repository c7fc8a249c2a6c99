"""The axes that positions have coordinates on: what they describe, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.testing import new_database
from tests.integration.rank_indexes import A, build, due, maintain
from tests.integration.support import sql

pytestmark = pytest.mark.hnsw

WIDE = 160
"""Dimensions: more than twice as many as axes."""
DEEP = 12
"""Dimensions that embeddings lie in, but for some noise."""


@pytest.fixture
def wide(server_url: str) -> Iterator[Engine]:
    """A schema for embeddings of WIDE dimensions."""
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=WIDE)
        engine = create_engine(database_url(url))
        yield engine
        engine.dispose()


def embeddings(seed: int, number: int, *, dimensions: slice) -> NDArray[np.float64]:
    """Of length 1, nearly within some of the dimensions."""
    random = np.random.default_rng(seed)
    drawn = 0.01 * random.standard_normal((number, WIDE))
    drawn[:, dimensions] += random.standard_normal(drawn[:, dimensions].shape)
    unit: NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def fill(repo: MemoryRepository, vectors: NDArray[np.float64], name: str = "memory") -> None:
    repo.add_many(
        A, [NewMemory(f"{name} {n}", embedding=one.tolist()) for n, one in enumerate(vectors)]
    )


def axes(engine: Engine) -> NDArray[np.float64]:
    [[stored]] = sql(engine, "SELECT axes::text[] FROM pgrecall.rank_indexes")
    return np.array([[float(x) for x in axis.strip("[]").split(",")] for axis in stored])


def test_numbers_whose_product_underflows_are_no_error(engine: Engine) -> None:
    """In pgvector they are; a build of a rank index failed by chance."""
    almost = "ARRAY['[1,1e-30,0]', '[1e-25,1,0]', '[0,1e-20,1e-5]']::vector[]"
    [[made]] = sql(engine, f"SELECT pgrecall.orthonormal({almost})::text[]")
    assert made == ["[1,0,0]", "[0,1,0]", "[0,0,1]"]


def test_where_few_axes_do_not_describe_embeddings_positions_have_all_of_them(wide: Engine) -> None:
    repo = MemoryRepository(wide)
    fill(repo, embeddings(2, 400, dimensions=slice(WIDE)))
    build(repo)
    assert sql(wide, "SELECT axes::text, kept FROM pgrecall.rank_indexes") == [("{}", 1.0)]


def test_a_search_finds_what_the_axes_leave_out(wide: Engine) -> None:
    """Memories that are written later lie elsewhere: only their lengths there are known."""
    repo = MemoryRepository(wide)
    fill(repo, embeddings(3, 300, dimensions=slice(DEEP)))
    build(repo)
    other = embeddings(4, 5, dimensions=slice(WIDE - 1, WIDE))
    other *= np.sign(other[:, -1:])
    fill(repo, other, "elsewhere")
    maintain(repo)

    hits = repo.search(A, other[0].tolist(), k=5, strategy="index", touch=False)

    assert hits.strategy == "index"
    assert {hit.memory.content.split()[0] for hit in hits} == {"elsewhere"}


def test_an_index_whose_axes_describe_less_and_less_is_due(wide: Engine) -> None:
    repo = MemoryRepository(wide)
    fill(repo, embeddings(5, 300, dimensions=slice(DEEP)))
    build(repo)
    inside, elsewhere = (embeddings(6, 20, dimensions=d) for d in (slice(DEEP), slice(-DEEP, None)))
    rounds = 0
    while (said := due(repo)) is None and rounds < 9:
        fill(repo, np.vstack([inside, elsewhere[:11]]), f"elsewhere {rounds}")
        assert maintain(repo) == []
        rounds += 1

    assert said is not None
    assert rounds > 2  # a few memories alone say little
    assert said.startswith("its axes describe ")
    assert maintain(repo) == [A]
    assert due(repo) is None
