"""The axes that positions have coordinates on: what they describe, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.rank_index.space import AXES_STEP, SIGNAL_AXES
from pgrecall.ranking.hits import Strategy
from pgrecall.testing import new_database
from tests.integration.owner import plain
from tests.integration.rank_indexes import A, build, due, found, maintain
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


def test_axes_are_orthonormal_and_describe_nearly_all_that_embeddings_differ_in(
    wide: Engine,
) -> None:
    repo, vectors = MemoryRepository(wide), embeddings(1, 400, dimensions=slice(DEEP))
    fill(repo, vectors)
    build(repo)

    found = axes(wide)

    assert found.shape == (AXES_STEP, WIDE)
    assert found @ found.T == pytest.approx(np.eye(AXES_STEP), abs=2e-3)
    principal = np.linalg.svd(vectors)[2][:DEEP]
    within = np.linalg.norm(principal @ found.T, axis=1)
    assert within == pytest.approx(1.0, abs=1e-3)
    along = vectors @ found.T
    [[kept, relation]] = sql(wide, "SELECT kept, relation FROM pgrecall.rank_indexes")
    assert kept == pytest.approx((along**2).sum(axis=1).mean(), abs=0.01)
    positions = sql(
        wide,
        "SELECT CAST(split_part(content, ' ', 2) AS integer), CAST(position AS real[]) "
        f"FROM pgrecall.{relation} JOIN pgrecall.agent_memories ON id = memory_id",
    )
    assert len(positions) == len(vectors)
    for number, position in positions:
        assert position[:AXES_STEP] == pytest.approx(along[number], rel=0.01, abs=0.002)
        rest = np.sqrt(max(1 - (along[number] ** 2).sum(), 0.0))
        assert position[AXES_STEP] == pytest.approx(rest, abs=0.05)


@pytest.mark.parametrize(
    ("memories", "dimensions"),
    [(400, slice(WIDE)), (3, slice(DEEP)), (0, slice(DEEP))],
    ids=["in all directions", "fewer than axes", "without embeddings"],
)
def test_where_few_axes_do_not_describe_embeddings_positions_have_all_of_them(
    wide: Engine, memories: int, dimensions: slice
) -> None:
    repo = MemoryRepository(wide)
    vectors = np.tile(embeddings(2, memories, dimensions=dimensions), (4, 1))
    fill(repo, vectors)
    repo.add_many(A, [plain(f"number {n}") for n in range(10)])
    build(repo)

    [[found, kept, relation]] = sql(wide, "SELECT axes, kept, relation FROM pgrecall.rank_indexes")
    assert (str(found), kept) == ("{}", 1.0)
    lengths = sql(wide, f"SELECT DISTINCT vector_dims(position) FROM pgrecall.{relation}")
    assert lengths == [(WIDE + 1 + SIGNAL_AXES,)]
    query = embeddings(3, 1, dimensions=dimensions)[0].tolist()
    scores, moment = {}, datetime.now(UTC)
    strategies: tuple[Strategy, ...] = ("exact", "index")
    for strategy in strategies:
        hits = repo.search(
            A, query, k=10, profile="five_factor", as_of=moment, strategy=strategy, touch=False
        )
        assert hits.strategy == strategy
        scores[strategy] = [round(hit.score, 9) for hit in hits]
    assert scores["index"] == scores["exact"]


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


def test_what_is_placed_is_found_though_it_is_newer_than_the_build(wide: Engine) -> None:
    """The newer, the longer a position, and a graph leads to hardly any that are longer than those
    that it was built of."""
    repo, now, random = MemoryRepository(wide), datetime.now(UTC), np.random.default_rng(4)
    vectors = random.standard_normal((20, WIDE))[random.integers(20, size=6_300)]
    vectors += 0.6 * random.standard_normal(vectors.shape)
    ages = [*np.linspace(90, 10, 6_000), *np.linspace(10, 0, 300)]
    written = [
        NewMemory(f"memory {n}", embedding=one.tolist(), created_at=now - timedelta(days=age))
        for n, (one, age) in enumerate(zip(vectors, ages, strict=True))
    ]
    repo.add_many(A, written[:6_000])
    build(repo, as_of=now - timedelta(days=10))
    placed = repo.add_many(A, written[6_000:])
    assert maintain(repo) == []

    lost = [
        one
        for one, asked in zip(placed, vectors[6_000:].tolist(), strict=True)
        if one not in found(repo, asked, "index")
    ]

    assert lost == []
