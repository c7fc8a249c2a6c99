"""The question's vector, shifted by the mean of the owner's memories, against numpy."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from pgrecall import Hits, JudgedQuery, MemoryRepository, NewMemory, Profile, Similarity
from tests.integration.owner import Owner
from tests.integration.support import NORTH

SHIFTED = Profile("shifted", {Similarity(shift=0.6): 1.0})
PLAIN = Profile("plain", {Similarity(): 1.0})
LEAST = 50
Vectors = dict[str, list[float]]


def directions(many: int, seed: str) -> Vectors:
    """Vectors of any length that have a direction in common."""
    dice = random.Random(seed)
    return {
        f"{seed} {n}": [dice.uniform(0.5, 2), *(dice.gauss(0, 0.7) for _ in NORTH[1:])]
        for n in range(many)
    }


def unit(vector: Sequence[float]) -> Any:
    return np.array(vector) / np.linalg.norm(vector)


def mean_of(vectors: Vectors) -> Any:
    return np.mean([unit(vector) for vector in vectors.values()], axis=0)


def wanted(vectors: Vectors, mean: Any = 0.0) -> dict[str, float]:
    """The cosine of each with NORTH, shifted by .6 of the mean, at least 0."""
    query = unit(unit(NORTH) - 0.6 * mean)
    return {text: max(float(unit(vector) @ query), 0.0) for text, vector in vectors.items()}


def stored(owner: Owner, vectors: Vectors) -> None:
    owner.add_many([NewMemory(text, embedding=vector) for text, vector in vectors.items()])


def similarities(hits: Hits) -> dict[str, float]:
    assert all(hit.contributions["similarity"] == hit.score for hit in hits)
    return {hit.memory.content: hit.signals["similarity"] for hit in hits}


def searched(owner: Owner, profile: Profile = SHIFTED, **arguments: Any) -> Hits:
    hits: Hits = owner.search(NORTH, k=1_000, profile=profile, touch=False, **arguments)
    return hits


def close(expected: dict[str, float], within: float = 1e-6) -> Any:
    return pytest.approx(expected, abs=within)


def test_similarity_is_that_to_the_shifted_question(mine: Owner) -> None:
    vectors = directions(60, "a")
    stored(mine, vectors)
    mean = mean_of(vectors)

    hits = searched(mine)

    assert similarities(hits) == close(wanted(vectors, mean))
    assert {hit.memory.content: hit.similarity for hit in hits} == close(wanted(vectors))
    assert hits != sorted(hits, key=lambda hit: -(hit.similarity or 0))
    explained = mine.explain(hits[0].memory.id, NORTH, profile=SHIFTED)
    assert explained.signals[0].value == pytest.approx(hits[0].score, abs=1e-12)
    assert (explained.rank, explained.hit.similarity) == (1, hits[0].similarity)
    # A floor reads the plain cosine, and the profile decides who is shifted.
    assert len(searched(mine, filter={"similarity": {"$gte": 0.5}})) == sum(
        one >= 0.5 for one in wanted(vectors).values()
    )
    assert similarities(searched(mine, PLAIN)) == close(wanted(vectors))
    by_psql = mine.sql(
        "SELECT id FROM pgrecall.recall(:agent, query => '[1,0,0,0,0,0,0,0]', k => 60, "
        "profile => 'hybrid') r"
    )
    in_python = mine.search(NORTH, k=60, profile="hybrid", touch=False)
    assert by_psql == [hit.memory.id for hit in in_python]


def test_each_owner_has_a_mean_of_its_own(mine: Owner) -> None:
    own, theirs = directions(60, "own"), directions(80, "theirs")
    stored(mine, own)
    stored(mine.other.team, theirs)

    found = similarities(searched(mine, teams=[mine.other.name]))

    both = wanted(own, mean_of(own)) | wanted(theirs, mean_of(theirs))
    assert found == close(both)


def test_a_search_as_of_an_earlier_moment_is_not_shifted(mine: Owner) -> None:
    vectors = directions(60, "a")
    moments = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(60)]
    mine.add_many(
        [
            NewMemory(text, embedding=vector, created_at=moment)
            for (text, vector), moment in zip(vectors.items(), moments, strict=True)
        ]
    )

    before = similarities(searched(mine, as_of=moments[-1] - timedelta(seconds=1)))
    later = similarities(searched(mine, as_of=moments[-1]))

    last = [*vectors][-1]
    assert before == close({text: s for text, s in wanted(vectors).items() if text != last})
    assert later == close(wanted(vectors, mean_of(vectors)))
    queries = [JudgedQuery(NORTH, [mine.list(limit=1)[0].id], as_of=one) for one in moments[-2:]]
    assert mine.evaluation.evaluate(queries, profiles=[SHIFTED]).missing == 0


def test_few_memories_have_no_mean_and_a_tenth_more_changes_it(mine: Owner) -> None:
    vectors = directions(LEAST + 20, "a")
    texts = [*vectors]
    so_far: Vectors = {}

    def means() -> list[Any]:
        return mine.sql("SELECT memories FROM pgrecall.owner_vectors WHERE agent_id = :agent")

    def add(number: int) -> None:
        for text in texts[len(so_far) : len(so_far) + number]:
            so_far[text] = vectors[text]
            mine.add(NewMemory(text, embedding=vectors[text]))

    add(LEAST - 1)
    assert similarities(searched(mine)) == close(wanted(so_far))
    add(1)
    first = mean_of(so_far)
    assert (means(), similarities(searched(mine))) == ([50], close(wanted(so_far, first)))
    add(4)
    assert similarities(searched(mine)) == close(wanted(so_far, first))
    add(1)
    assert (means(), similarities(searched(mine))) == ([55], close(wanted(so_far, mean_of(so_far))))
    add(15)
    assert means() == [66]  # a tenth of 55, then of 60


def test_what_is_erased_leaves_the_mean_and_what_is_deleted_at_once_too(mine: Owner) -> None:
    vectors = directions(80, "a")
    stored(mine, vectors)
    by_text = {memory.content: memory.id for memory in mine.list(limit=100)}

    erased = by_text.pop("a 7")
    del vectors["a 7"]
    mine.erase([erased])

    assert similarities(searched(mine)) == close(wanted(vectors, mean_of(vectors)))
    gone = [*by_text][:20]
    mine.delete([by_text[text] for text in gone])
    left = {text: vector for text, vector in vectors.items() if text not in gone}
    assert similarities(searched(mine)) == close(wanted(left, mean_of(left)))
    mine.erase_owner()
    assert mine.sql("SELECT mean FROM pgrecall.owner_vectors WHERE agent_id = :agent") == []


def test_a_rank_index_is_asked_with_the_shifted_question(mine: Owner) -> None:
    vectors = directions(400, "a")
    stored(mine, vectors)
    repo: MemoryRepository = mine.repo
    repo.rank_indexes.build(agent_id=mine.name, at_least=1)

    exact = searched(mine)[:10]
    hits = mine.search(NORTH, k=10, profile=SHIFTED, strategy="index", touch=False)

    assert hits.strategy == "index"
    assert len({hit.memory.id for hit in hits} & {hit.memory.id for hit in exact}) >= 9
    assert hits[0].score == pytest.approx(exact[0].score, abs=1e-9)
