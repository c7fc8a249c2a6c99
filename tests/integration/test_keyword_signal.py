"""The keyword signal against an independent computation in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, score
from pgrecall.scoring.signals import Importance, Keyword, Recency, Similarity
from tests.integration.compass import North
from tests.integration.owner import Owner, plain
from tests.integration.support import NORTH, NOW, at, before, contents, similar

EXACT = 1e-9
ALONE = Profile("words", {Keyword(): 1.0})
MIXED = Profile(
    "mixed", {Similarity(): 0.6, Keyword(): 0.3, Recency(half_life=90): 0.05, Importance(): 0.05}
)
STOP_WORDS = "the and of"

MEANT: dict[str, str | None] = {
    **{word: word for word in ("lamp", "drum", "brick", "cloud", "tea", "4711", "3.5", "ship")},
    "Lamp": "lamp",
    "TEA": "tea",
    "drum,": "drum",
    "(cloud)": "cloud",
    "ships": "ship",
    **dict.fromkeys(("dance", "danced", "Dancing"), "danc"),
    **dict.fromkeys(("café", "cafe", "Cafe\u0301"), "cafe"),
    **dict.fromkeys(("1,000", "1000"), "1000"),
    **dict.fromkeys(("the", "and", "OF", "🙂", "…")),
}
"""What is typed → the term that it is compared by, as told by hand."""


def terms(written: str) -> set[str]:
    return {MEANT[word] or "" for word in written.split() if word in MEANT} - {""}


def weight(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def weights(query: str, corpus: Sequence[str], others: Sequence[str] = ()) -> dict[str, float]:
    """Of each term of the query; 0 where nothing has it, in the corpus or searched beside it."""
    return {
        term: weight(sum(term in terms(one) for one in corpus), len(corpus))
        if any(term in terms(one) for one in (*corpus, *others))
        else 0.0
        for term in terms(query)
    }


def share(query: str, content: str, corpus: Sequence[str], others: Sequence[str] = ()) -> float:
    """Of one of the corpus' memories: Σ idf(matched) / Σ idf(known). All are short."""
    weighed = weights(query, corpus, others)
    if not any(weighed.values()):
        return 0.0
    matched = (weighed[term] for term in sorted(weighed) if term in terms(content))
    return math.fsum(matched) / math.fsum(weighed.values())


def numbered(texts: Iterable[str]) -> list[str]:
    """Each with a word of its own, since no text is stored twice."""
    return [f"{one} x{number}x" for number, one in enumerate(texts)]


def shares(hits: Iterable[ScoredMemory]) -> dict[str, float]:
    return {hit.memory.content: hit.signals["keyword"] for hit in hits}


def expected(query: str, corpus: Sequence[str]) -> Any:
    return pytest.approx({one: share(query, one, corpus) for one in corpus}, abs=EXACT)


CORPUS = numbered(
    (
        *("tea lamp", "tea drum,", "TEA Lamp (cloud)", "ships danced", "café 1,000"),
        *("brick the 🙂", "of"),
    )
)
QUERIES = (
    *("tea", "lamp tea", "tea tea TEA lamp", "dance ship 1000", "Cafe\u0301 brick", "4711"),
    *("the tea and OF", "drum cloud 4711", STOP_WORDS, "🙂 …", ""),
    "tea lamp drum brick cloud dance ship cafe 1000 3.5 4711",
)


@pytest.fixture
def told(mine: Owner) -> Owner:
    """An agent that has the corpus."""
    mine.add_many(list(map(plain, CORPUS)))
    return mine


def test_the_signal_is_the_weight_of_the_terms_it_has_as_a_share_of_all(told: Owner) -> None:
    """At any time, by any strategy, and in psql."""
    asked: dict[str, Any] = {"profile": ALONE, "touch": False}
    for query in QUERIES:
        hits = told.search(keywords=query, **asked)
        assert shares(hits) == expected(query, CORPUS)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) == [hit.signals["keyword"] for hit in hits]

    later = NOW + timedelta(days=36_500)
    assert shares(told.search(keywords="tea lamp", as_of=later, **asked)) == expected(
        "tea lamp", CORPUS
    )
    full = [one for one in CORPUS if {"tea", "lamp"} <= terms(one)]
    hits = told.search(keywords="tea lamp", min_score=1.0, **asked)
    assert sorted(contents(hits)) == sorted(full)
    assert {hit.score for hit in hits} == {1.0}
    rows = told.sql(
        "SELECT content, signal_keyword FROM pgrecall.recall("
        ":agent, keywords => 'tea lamp', profile => 'hybrid')"
    )
    assert dict(rows) == expected("tea lamp", CORPUS)


words = st.sampled_from(sorted(MEANT))
texts = st.lists(words, max_size=6).map(" ".join)
corpora = st.lists(texts, max_size=6).map(numbered)


@settings(
    deadline=None, max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.tuples(corpora, corpora, corpora, corpora), texts)
def test_each_owner_weighs_by_its_own_memories(
    module_engine: Engine, stored: tuple[list[str], ...], query: str
) -> None:
    """An agent, another one, a team of the name of the first, and another one."""
    own, _, red, blue = stored
    with module_engine.connect() as connection:
        repo, name = MemoryRepository(connection), str(uuid4())
        owners = ((repo, name), (repo, f"{name}!"), (repo.teams, name), (repo.teams, f"{name}-b"))
        for (of, owner), several in zip(owners, stored, strict=True):
            of.add_many(owner, list(map(plain, several)))
        asked: dict[str, Any] = {"keywords": query, "profile": ALONE, "k": 50}
        teams = [name, f"{name}-b", name]

        together = repo.search(name, teams=teams, touch=False, **asked)
        alone = repo.search(name, touch=False, **asked)
        of_team = repo.teams.search(name, touch=False, **asked)

        assert shares(alone) == expected(query, own)
        assert shares(of_team) == expected(query, red)
        assert len(together) == len(own) + len(red) + len(blue)
        by_owner = {None: own, name: red, f"{name}-b": blue}
        every = [*own, *red, *blue]
        for hit in together:
            wanted = share(query, hit.memory.content, by_owner[hit.memory.team_id], every)
            assert hit.signals["keyword"] == pytest.approx(wanted, abs=EXACT)
        if together:
            why = repo.explain(name, together[0].memory.id, teams=teams, **asked)
            wanted_weights = weights(query, by_owner[why.hit.memory.team_id], every)
            assert {term.term: term.weight for term in why.terms} == pytest.approx(wanted_weights)


def test_memories_that_are_left_out_count_for_the_weights(mine: Owner) -> None:
    """But for those created after the moment that is asked about."""
    for number, change in enumerate(
        (
            "status = 'archived'",
            *(f"{end} = '2020-01-01 00:00+00'" for end in ("invalidated_at", "expires_at")),
            *(f"{start} = '2999-01-01 00:00+00'" for start in ("valid_from", "created_at")),
        )
    ):
        told, gone = Owner(mine.bind, f"{mine.name} {number}"), CORPUS[0]
        told.add_many(list(map(plain, CORPUS)))
        update = f"UPDATE pgrecall.agent_memories SET {change} WHERE agent_id = :agent"
        told.sql(f"{update} AND content = :gone", gone=gone)

        asked: dict[str, Any] = {"profile": ALONE, "touch": False, "as_of": NOW.replace(2027)}
        hits = told.search(None, keywords="tea lamp", **asked)

        counted = [one for one in CORPUS if one != gone or "created_at" not in change]
        wanted = {one: share("tea lamp", one, counted) for one in CORPUS if one != gone}
        assert shares(hits) == pytest.approx(wanted, abs=EXACT)


def test_a_long_memory_has_less_of_the_signal(mine: Owner) -> None:
    corpus = ["tea lamp", "tea " + "brück " * 100, "drum"]
    mine.add_many(list(map(plain, corpus)))
    for b, pivot in ((0.8, 400.0), (0.0, 1.0), (1.0, 20.0), (0.5, 10.0)):
        profile = Profile("words", {Keyword(b=b, pivot=pivot): 1.0})
        wanted = {}
        for one in corpus:
            bytes_, of_terms = len(one.encode()), share("tea lamp", one, corpus)
            wanted[one] = of_terms / (1 - b + b * max(bytes_ / pivot, 1))
            scored = score(profile, {"keyword": of_terms, "bytes": bytes_})
            assert scored.score == pytest.approx(wanted[one])
        hits = mine.search(keywords="tea lamp", profile=profile, touch=False)
        assert shares(hits) == pytest.approx(wanted, abs=EXACT)


@pytest.fixture
def placed(mine: Owner) -> list[NewMemory]:
    """Memories that differ in every signal of hybrid."""
    memories = [
        plain(one, embedding=similar(0.1 * n), importance=1 - n / 7, created_at=before(30 * n))
        for n, one in enumerate(CORPUS)
    ]
    mine.add_many(memories)
    return memories


def test_the_score_is_the_weighted_sum_under_any_weights(
    mine: Owner, placed: list[NewMemory]
) -> None:
    asked: dict[str, Any] = {"as_of": NOW, "touch": False, "profile": MIXED}
    every_weight: list[dict[str, float] | None] = [
        *(None, {"keyword": 1.0}, {"keyword": 0.0, "similarity": 1.0}),
        *({"keyword": w, "similarity": 1 - w} for w in (1e-12, 0.5)),
        dict.fromkeys(("similarity", "keyword", "recency", "importance"), 0.25),
    ]
    for chosen, query in product(every_weight, ("tea lamp", "brick 3.5", STOP_WORDS, None)):
        used = MIXED if chosen is None else MIXED.with_weights(**chosen)
        hits = mine.search(NORTH, keywords=query, weights=chosen, **asked)
        by_content = {hit.memory.content: hit for hit in hits}
        assert len(hits) == len(placed)
        for number, one in enumerate(CORPUS):
            hit = by_content[one]
            values = {"importance": 1 - number / 7, "created_at": before(30 * number)}
            values |= {"similarity": hit.similarity, "keyword": share(query or "", one, CORPUS)}
            wanted = score(used, values, as_of=NOW)
            assert hit.similarity == pytest.approx(0.1 * number, abs=1e-6)
            assert hit.score == pytest.approx(wanted.score, abs=EXACT)
            assert math.fsum(hit.contributions.values()) == pytest.approx(hit.score, abs=EXACT)
            assert hit.signals == pytest.approx(wanted.signals, abs=EXACT)


@pytest.mark.usefixtures("placed")
def test_explain_tells_of_each_term(mine: Owner) -> None:
    for query in ("tea lamp 4711", "Dancing café the", STOP_WORDS):
        asked: dict[str, Any] = {"keywords": query, "profile": "hybrid", "as_of": NOW}
        weighed = weights(query, CORPUS)
        for hit in mine.search(NORTH, k=50, touch=False, **asked):
            why = mine.explain(hit.memory.id, NORTH, k=3, **asked)
            assert why.hit == hit
            found = {term.term: term.weight for term in why.terms}
            assert found == pytest.approx(weighed, abs=EXACT)
            assert list(found.values()) == sorted(found.values(), reverse=True)
            matched = [term for term in why.terms if term.matched]
            assert {term.term for term in matched} == terms(query) & terms(hit.memory.content)
            for term in why.terms:
                assert term.memories == sum(term.term in terms(one) for one in CORPUS)
            whole = math.fsum(term.share for term in why.terms)
            assert whole == pytest.approx(1 if any(weighed.values()) else 0)
            had = math.fsum(term.share for term in matched)
            assert had == pytest.approx(hit.signals["keyword"], abs=EXACT)


def test_the_text_that_is_embedded_is_what_words_are_compared_with(
    shared_engine: Engine, agent: str
) -> None:
    mine = Owner(shared_engine, agent, embedder=North())
    mine.add_many([NewMemory(one, embedding=at(9.0 * n)) for n, one in enumerate(CORPUS)])

    def found(query: Any, text: str | None = None) -> list[ScoredMemory]:
        asked: dict[str, Any] = {"profile": MIXED, "as_of": NOW.replace(2030), "touch": False}
        hits: list[ScoredMemory] = mine.search(query, keywords=text, **asked)
        return hits

    by_text = found("tea lamp")
    assert by_text == found(NORTH, "tea lamp")
    assert shares(by_text) == expected("tea lamp", CORPUS)
    assert shares(found("tea lamp", "brick")) == expected("brick", CORPUS)
    assert found("tea lamp", "") == found(NORTH)
    assert set(shares(found(NORTH)).values()) == {0.0}
    why = mine.explain(by_text[0].memory.id, "tea 4711", profile="hybrid")
    assert [(term.term, term.matched) for term in why.terms] == [("tea", True), ("4711", False)]
    assert mine.explain(by_text[0].memory.id, "tea", profile="five_factor").terms == ()


def test_the_first_1000_terms_of_a_query_and_100_000_characters_of_a_text_count(
    mine: Owner,
) -> None:
    mine.add_many([plain(f"z{number}z") for number in (0, 999, 1000)])
    query = " ".join(f"z{number}z z0z" for number in range(1001))
    found = shares(mine.search(keywords=query, profile=ALONE, touch=False))
    assert found == pytest.approx({"z0z": 0.5, "z999z": 0.5, "z1000z": 0}, abs=EXACT)

    filler = "the " * 24_998
    within, beyond = f"{filler}lamp    tea", f"{filler}tea        lamp"
    assert (within.index("tea"), beyond.index("lamp")) == (100_000, 100_003)
    mine.other.add_many([plain(within), plain(beyond)])
    asked: dict[str, Any] = {"profile": Profile("words", {Keyword(b=0): 1.0}), "touch": False}
    for text, score_of_both in (("tea lamp", 0.5), (f"{'the ' * 25_000}tea", 0.0)):
        hits = mine.other.search(keywords=text, **asked)
        assert [hit.score for hit in hits] == pytest.approx([score_of_both] * 2, abs=EXACT)
