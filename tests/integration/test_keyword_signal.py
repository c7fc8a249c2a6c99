"""The keyword signal against an independent computation in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, score
from pgrecall.scoring.signals import Importance, Keyword, Recency, Similarity
from pgrecall.testing import new_database
from tests.integration.support import NORTH, NOW, at, before, contents, similar, sql

EXACT = 1e-9
ALONE = Profile("words", {Keyword(): 1.0})
MIXED = Profile(
    "mixed", {Similarity(): 0.6, Keyword(): 0.3, Recency(half_life=90): 0.05, Importance(): 0.05}
)
STOP_WORDS = "the and of"

MEANT: dict[str, str | None] = {
    **{word: word for word in ("lamp", "drum", "brick", "cloud", "tea", "4711", "3.5")},
    "Lamp": "lamp",
    "TEA": "tea",
    "drum,": "drum",
    "(cloud)": "cloud",
    "dance": "danc",
    "danced": "danc",
    "Dancing": "danc",
    "ships": "ship",
    "ship": "ship",
    "café": "cafe",
    "cafe": "cafe",
    "Cafe\u0301": "cafe",
    "1,000": "1000",
    "1000": "1000",
    "the": None,
    "and": None,
    "OF": None,
    "🙂": None,
    "…": None,
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
    return pytest.approx({one: share(query, one, corpus) for one in corpus}, rel=0, abs=EXACT)


CORPUS = numbered(
    [
        "tea lamp",
        "tea drum,",
        "TEA Lamp (cloud)",
        "ships danced",
        "café 1,000",
        "brick the 🙂",
        "of",
    ]
)
QUERIES = [
    "tea",
    "lamp tea",
    "tea tea TEA lamp",
    "dance ship 1000",
    "Cafe\u0301 brick",
    "the tea and OF",
    "drum cloud 4711",
    "4711",
    "tea lamp drum brick cloud dance ship cafe 1000 3.5 4711",
    STOP_WORDS,
    "🙂 …",
    "",
]


@pytest.fixture
def told(shared_repo: MemoryRepository, agent: str) -> str:
    """An agent that has the corpus."""
    shared_repo.add_many(agent, [NewMemory(one, embedding=None) for one in CORPUS])
    return agent


def test_the_signal_is_the_weight_of_the_terms_it_has_as_a_share_of_all(
    shared_repo: MemoryRepository, shared_engine: Engine, told: str
) -> None:
    """At any time, by any strategy, and in psql."""
    for query in QUERIES:
        hits = shared_repo.search(told, query_text=query, profile=ALONE, touch=False)
        assert shares(hits) == expected(query, CORPUS)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) == [hit.signals["keyword"] for hit in hits]

    asked: dict[str, Any] = {"query_text": "tea lamp", "profile": ALONE, "touch": False}
    later = shared_repo.search(told, as_of=NOW + timedelta(days=36_500), **asked)
    assert shares(later) == expected("tea lamp", CORPUS)
    full = [one for one in CORPUS if {"tea", "lamp"} <= terms(one)]
    hits = shared_repo.search(told, min_score=1.0, **asked)
    assert sorted(contents(hits)) == sorted(full)
    assert {hit.score for hit in hits} == {1.0}
    rows = sql(
        shared_engine,
        "SELECT content, signals -> 'keyword' FROM pgrecall.recall("
        ":agent, query_text => 'tea lamp', profile => 'hybrid')",
        agent=told,
    )
    found: dict[str, float] = dict(rows)
    assert found == expected("tea lamp", CORPUS)


words = st.sampled_from(sorted(MEANT))
texts = st.lists(words, max_size=6).map(" ".join)
corpora = st.lists(texts, max_size=6).map(numbered)


@pytest.fixture(scope="module")
def property_engine(server_url: str, template: str) -> Iterator[Engine]:
    """One database for all examples; each runs in a transaction that is rolled back."""
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        yield engine
        engine.dispose()


@settings(
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(own=corpora, anothers=corpora, red=corpora, blue=corpora, query=texts)
def test_each_owner_weighs_by_its_own_memories(
    property_engine: Engine,
    own: list[str],
    anothers: list[str],
    red: list[str],
    blue: list[str],
    query: str,
) -> None:
    with property_engine.connect() as connection:
        repo = MemoryRepository(connection)
        name = str(uuid4())  # the agent and a team of the same name are two owners
        for owner, texts, of in (
            (name, own, repo),
            (f"{name}!", anothers, repo),
            (name, red, repo.teams),
            (f"{name}-blue", blue, repo.teams),
        ):
            of.add_many(owner, [NewMemory(one, embedding=None) for one in texts])
        asked: dict[str, Any] = {"query_text": query, "profile": ALONE, "k": 50, "touch": False}

        together = repo.search(name, teams=[name, f"{name}-blue", name], **asked)
        alone = repo.search(name, **asked)
        of_team = repo.teams.search(name, **asked)

        assert shares(alone) == expected(query, own)
        assert shares(of_team) == expected(query, red)
        assert len(together) == len(own) + len(red) + len(blue)
        by_owner = {None: own, name: red, f"{name}-blue": blue}
        every = [*own, *red, *blue]
        for hit in together:
            corpus = by_owner[hit.memory.team_id]
            wanted = share(query, hit.memory.content, corpus, every)
            assert hit.signals["keyword"] == pytest.approx(wanted, rel=0, abs=EXACT)
        if together:
            why = repo.explain(
                *(name, together[0].memory.id),
                teams=[name, f"{name}-blue"],
                **{one: value for one, value in asked.items() if one != "touch"},
            )
            wanted_weights = weights(query, by_owner[why.hit.memory.team_id], every)
            assert {term.term: term.weight for term in why.terms} == pytest.approx(wanted_weights)


def test_memories_that_are_left_out_count_for_the_weights(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    """But for those created after the moment that is asked about."""
    for number, change in enumerate(
        (
            "status = 'archived'",
            "invalidated_at = '2020-01-01 00:00+00'",
            "expires_at = '2020-01-01 00:00+00'",
            "valid_from = '2999-01-01 00:00+00'",
            "created_at = '2999-01-01 00:00+00'",
        )
    ):
        told, gone = f"{agent} {number}", CORPUS[0]
        shared_repo.add_many(told, [NewMemory(one, embedding=None) for one in CORPUS])
        update = f"UPDATE pgrecall.agent_memories SET {change} WHERE agent_id = :agent"
        sql(shared_engine, f"{update} AND content = :gone", agent=told, gone=gone)
        asked: dict[str, Any] = {"profile": ALONE, "touch": False, "as_of": NOW.replace(2027)}

        hits = shared_repo.search(told, None, query_text="tea lamp", **asked)

        counted = [one for one in CORPUS if one != gone or "created_at" not in change]
        wanted = {one: share("tea lamp", one, counted) for one in CORPUS if one != gone}
        assert shares(hits) == pytest.approx(wanted, rel=0, abs=EXACT)


def test_what_was_created_after_as_of_does_not_count_for_the_weights(
    shared_repo: MemoryRepository, agent: str
) -> None:
    dated = [
        NewMemory(one, embedding=None, created_at=before(10 - number))
        for number, one in enumerate(CORPUS)
    ]
    shared_repo.add_many(agent, dated)

    hits = shared_repo.search(
        agent, query_text="tea lamp brick", profile=ALONE, as_of=before(8.5), touch=False
    )

    wanted = {one: share("tea lamp brick", one, CORPUS[:2]) for one in CORPUS[:2]}
    assert shares(hits) == pytest.approx(wanted, rel=0, abs=EXACT)


def test_filters_and_thresholds_do_not_change_the_weights(
    shared_repo: MemoryRepository, told: str
) -> None:
    shared_repo.add(told, NewMemory("tea 4711 last", embedding=None, tags=["b"]))
    corpus = [*CORPUS, "tea 4711 last"]
    cases: list[dict[str, Any]] = [{"text": "lamp"}, {"tags": ["b"]}, {"min_score": 0.5}, {"k": 2}]
    for filters in cases:
        asked: dict[str, Any] = {"profile": ALONE, "touch": False, "k": 3, **filters}
        hits = shared_repo.search(told, query_text="tea lamp", **asked)
        assert 0 < len(hits) <= 3
        for content, found in shares(hits).items():
            assert found == pytest.approx(share("tea lamp", content, corpus), rel=0, abs=EXACT)


def test_weights_follow_every_change_at_once(shared_repo: MemoryRepository, agent: str) -> None:
    def assert_exact(corpus: Sequence[str]) -> None:
        asked: dict[str, Any] = {"query_text": "tea lamp drum", "profile": ALONE, "touch": False}
        assert shares(shared_repo.search(agent, **asked)) == expected("tea lamp drum", corpus)

    first = shared_repo.add(agent, NewMemory("tea lamp", embedding=None))
    assert_exact(["tea lamp"])
    second, _ = shared_repo.add_many(
        agent, [NewMemory("tea drum,", embedding=None), NewMemory("brick", embedding=None)]
    )
    assert_exact(["tea lamp", "tea drum,", "brick"])
    shared_repo.update(agent, first, content="(cloud)", embedding=None)
    assert_exact(["(cloud)", "tea drum,", "brick"])
    shared_repo.update(agent, first, importance=0.9)
    assert_exact(["(cloud)", "tea drum,", "brick"])
    shared_repo.delete(agent, second)
    assert_exact(["(cloud)", "brick"])
    shared_repo.clear(agent)
    shared_repo.add(agent, NewMemory("lamp", embedding=None))
    assert_exact(["lamp"])


def test_a_long_memory_has_less_of_the_signal(shared_repo: MemoryRepository, agent: str) -> None:
    corpus = ["tea lamp", "tea " + "brück " * 100, "drum"]
    shared_repo.add_many(agent, [NewMemory(one, embedding=None) for one in corpus])
    for b, pivot in ((0.8, 400.0), (0.0, 1.0), (1.0, 20.0), (0.5, 10.0)):
        profile = Profile("words", {Keyword(b=b, pivot=pivot): 1.0})
        hits = shared_repo.search(agent, query_text="tea lamp", profile=profile, touch=False)
        wanted = {}
        for one in corpus:
            bytes_ = len(one.encode())
            wanted[one] = share("tea lamp", one, corpus) / (1 - b + b * max(bytes_ / pivot, 1))
            values = {"keyword": share("tea lamp", one, corpus), "bytes": bytes_}
            assert score(profile, values).score == pytest.approx(wanted[one])
        assert shares(hits) == pytest.approx(wanted, rel=0, abs=EXACT)


@pytest.fixture
def placed(shared_repo: MemoryRepository, agent: str) -> list[NewMemory]:
    """Memories that differ in every signal of hybrid."""
    memories = [
        NewMemory(
            one,
            embedding=similar(0.1 * number),
            importance=1 - number / 7,
            created_at=before(30 * number),
        )
        for number, one in enumerate(CORPUS)
    ]
    shared_repo.add_many(agent, memories)
    return memories


def test_the_score_is_the_weighted_sum_under_any_weights(
    shared_repo: MemoryRepository, agent: str, placed: list[NewMemory]
) -> None:
    asked: dict[str, Any] = {"as_of": NOW, "touch": False, "profile": MIXED}
    every_weight: list[dict[str, float] | None] = [
        *(None, {"keyword": 1.0}, {"keyword": 0.0, "similarity": 1.0}),
        *({"keyword": w, "similarity": 1 - w} for w in (1e-12, 0.5)),
        dict.fromkeys(("similarity", "keyword", "recency", "importance"), 0.25),
    ]
    for chosen, query in product(every_weight, ("tea lamp", "brick 3.5", STOP_WORDS, None)):
        hits = shared_repo.search(agent, NORTH, query_text=query, weights=chosen, **asked)
        by_content = {hit.memory.content: hit for hit in hits}
        used = MIXED if chosen is None else MIXED.with_weights(**chosen)
        assert len(hits) == len(placed)
        for number, memory in enumerate(placed):
            hit = by_content[memory.content]
            values = {
                "similarity": hit.similarity,
                "keyword": share(query or "", memory.content, CORPUS),
                "importance": 1 - number / 7,
                "created_at": before(30 * number),
            }
            wanted = score(used, values, as_of=NOW)
            assert hit.similarity == pytest.approx(0.1 * number, abs=1e-6)
            assert hit.score == pytest.approx(wanted.score, rel=0, abs=EXACT)
            assert math.fsum(hit.contributions.values()) == pytest.approx(hit.score, abs=EXACT)
            assert hit.signals == pytest.approx(wanted.signals, rel=0, abs=EXACT)


def test_a_query_that_matches_nothing_leaves_the_order_to_the_other_signals(
    shared_repo: MemoryRepository, agent: str, placed: list[NewMemory]
) -> None:
    asked: dict[str, Any] = {"as_of": NOW, "touch": False, "profile": MIXED}
    others = {"similarity": 0.6, "recency": 0.05, "importance": 0.05}
    rest = shared_repo.search(agent, NORTH, weights=others, normalise_weights=True, **asked)
    for query in ("4711 3.5", STOP_WORDS, "", "…", None):
        plain = shared_repo.search(agent, NORTH, query_text=query, **asked)
        assert contents(plain) == contents(rest)
        for hit, other in zip(plain, rest, strict=True):
            assert hit.signals["keyword"] == 0
            assert hit.score == pytest.approx(0.7 * other.score, rel=0, abs=EXACT)


def test_neighbours_carry_the_keyword_signal(shared_repo: MemoryRepository, agent: str) -> None:
    repo = shared_repo.teams
    ids = repo.add_many(agent, [NewMemory(one, embedding=None) for one in CORPUS])
    repo.links.add(agent, ids[2], ids[0])
    repo.links.add(agent, ids[0], ids[5])
    asked: dict[str, Any] = {"query_text": "tea lamp cloud", "profile": ALONE, "touch": False}

    hits = shared_repo.search(agent, k=1, expand=2, teams=[agent], **asked)
    own = repo.search(agent, k=1, expand=2, **asked)

    for found in (hits, own):
        assert [(hit.memory.id, hit.steps) for hit in found] == [(ids[2], 0), (ids[0], 1)]
        for hit in found:
            wanted = share("tea lamp cloud", hit.memory.content, CORPUS)
            assert hit.signals["keyword"] == pytest.approx(wanted, rel=0, abs=EXACT)
            assert hit.score == hit.signals["keyword"]


def test_explain_agrees_with_the_search(
    shared_repo: MemoryRepository, agent: str, placed: list[NewMemory]
) -> None:
    all_words: dict[str, float] = {"keyword": 1.0}
    for query, chosen in product(
        ("tea lamp 4711", "Dancing café the", STOP_WORDS), (None, all_words)
    ):
        asked: dict[str, Any] = {"query_text": query, "profile": "hybrid", "weights": chosen}
        asked["as_of"] = NOW
        every = shared_repo.search(agent, NORTH, k=50, touch=False, **asked)
        weighed = weights(query, CORPUS)
        for rank, hit in enumerate(every, start=1):
            why = shared_repo.explain(agent, hit.memory.id, NORTH, k=3, **asked)
            told = (why.hit, why.rank, why.ranked, why.returned)
            assert told == (hit, rank, len(every), rank <= 3)
            found = {term.term: term.weight for term in why.terms}
            assert found == pytest.approx(weighed, rel=0, abs=EXACT)
            assert list(found.values()) == sorted(found.values(), reverse=True)
            matched = [term for term in why.terms if term.matched]
            assert {term.term for term in matched} == terms(query) & terms(hit.memory.content)
            for term in why.terms:
                assert term.memories == sum(term.term in terms(one) for one in CORPUS)
            whole = math.fsum(term.share for term in why.terms)
            assert whole == pytest.approx(1 if any(weighed.values()) else 0)
            had = math.fsum(term.share for term in matched)
            assert had == pytest.approx(hit.signals["keyword"], rel=0, abs=EXACT)


def test_one_id_of_two_owners_has_the_words_of_each(
    shared_repo: MemoryRepository, agent: str
) -> None:
    same = uuid4()
    shared_repo.add(agent, NewMemory("tea", id=same, embedding=None))
    shared_repo.teams.add(agent, NewMemory("lamp", id=same, embedding=None))

    hits = shared_repo.search(
        agent, query_text="tea lamp", profile=ALONE, teams=[agent], touch=False
    )

    wanted = {"tea": share("tea lamp", "tea", ["tea"], ["lamp"])}
    wanted["lamp"] = share("tea lamp", "lamp", ["lamp"], ["tea"])
    assert shares(hits) == pytest.approx(wanted)


def test_the_same_question_has_the_same_scores_however_often_it_is_asked(
    shared_engine: Engine, agent: str
) -> None:
    """Also when PL/pgSQL turns to plans for any values, and ties are by id."""
    query = "tea lamp drum brick cloud dance ship cafe 1000 3.5"
    some = ["tea lamp drum", "drum tea lamp", "brick (cloud) tea dance", "dance brick TEA cloud"]
    with shared_engine.connect() as connection:
        repo = MemoryRepository(connection)
        repo.add_many(agent, [NewMemory(one, embedding=None) for one in numbered(some * 5)])
        asked: dict[str, Any] = {"query_text": query, "profile": ALONE, "k": 50}

        found = [
            [(hit.score, hit.memory.id) for hit in repo.search(agent, touch=False, **asked)]
            for _ in range(12)
        ]

        assert all(one == found[0] for one in found)
        assert found[0] == sorted(found[0], key=lambda pair: (-pair[0], pair[1]))
        assert len({hit_score for hit_score, _ in found[0]}) == 2
        for rank, (hit_score, memory_id) in enumerate(found[0], start=1):
            why = repo.explain(agent, memory_id, **asked)
            assert (why.hit.score, why.rank) == (hit_score, rank)
        connection.rollback()


class North:
    """An embedder that sees one direction in every text."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [NORTH for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return NORTH


def test_the_text_that_is_embedded_is_what_words_are_compared_with(engine: Engine) -> None:
    north = North()
    repo = MemoryRepository(engine, embedder=north)
    repo.add_many("agent", [NewMemory(one, embedding=at(9.0 * n)) for n, one in enumerate(CORPUS)])
    asked: dict[str, Any] = {"profile": MIXED, "as_of": NOW.replace(2030), "touch": False}

    by_text = repo.search("agent", "tea lamp", **asked)
    by_both = repo.search("agent", NORTH, query_text="tea lamp", **asked)
    by_another = repo.search("agent", "tea lamp", query_text="brick", **asked)
    by_none = repo.search("agent", "tea lamp", query_text="", **asked)
    by_vector = repo.search("agent", NORTH, **asked)
    why = repo.explain("agent", by_text[0].memory.id, "tea 4711", profile="hybrid")
    other = repo.explain("agent", by_text[0].memory.id, "tea lamp", profile="five_factor")

    assert by_text == by_both
    assert shares(by_text) == expected("tea lamp", CORPUS)
    assert shares(by_another) == expected("brick", CORPUS)
    assert by_none == by_vector
    assert set(shares(by_vector).values()) == {0.0}
    assert north.queries == [*["tea lamp"] * 3, "tea 4711", "tea lamp"]
    assert [(term.term, term.matched) for term in why.terms] == [("tea", True), ("4711", False)]
    assert other.terms == ()


def test_words_count_for_nothing_in_a_profile_without_the_signal(
    shared_repo: MemoryRepository, told: str
) -> None:
    asked: dict[str, Any] = {"profile": "five_factor", "as_of": NOW.replace(2030), "touch": False}

    assert shared_repo.search(told, NORTH, **asked) == shared_repo.search(
        told, NORTH, query_text="tea", **asked
    )


def test_the_first_1000_distinct_terms_of_a_query_count(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent, [NewMemory(f"z{number}z", embedding=None) for number in (0, 999, 1000)]
    )
    query = " ".join(f"z{number}z z0z" for number in range(1001))

    hits = shared_repo.search(agent, query_text=query, profile=ALONE, touch=False)

    assert shares(hits) == pytest.approx({"z0z": 0.5, "z999z": 0.5, "z1000z": 0}, rel=0, abs=EXACT)


def test_the_first_100_000_characters_of_a_text_count(
    shared_repo: MemoryRepository, agent: str
) -> None:
    filler = "the " * 24_998
    within, beyond = f"{filler}lamp    tea", f"{filler}tea        lamp"
    assert (within.index("tea"), beyond.index("lamp")) == (100_000, 100_003)
    shared_repo.add_many(agent, [NewMemory(one, embedding=None) for one in (within, beyond)])

    profile = Profile("words", {Keyword(b=0): 1.0})
    hits = shared_repo.search(agent, query_text="tea lamp", profile=profile, touch=False)
    asked_late = shared_repo.search(
        agent, query_text=f"{'the ' * 25_000}tea", profile=profile, touch=False
    )

    half = pytest.approx(0.5, rel=0, abs=EXACT)
    assert {hit.memory.content == within: hit.score for hit in hits} == {True: half, False: half}
    assert [hit.score for hit in asked_late] == [0.0, 0.0]


def test_a_memory_without_embedding_is_found_by_words_and_counted(
    shared_repo: MemoryRepository, told: str
) -> None:
    [hit] = shared_repo.search(told, NORTH, query_text="ship", profile="hybrid", k=1)

    assert (hit.memory.content, hit.similarity) == (CORPUS[3], None)
    memory = shared_repo.get(told, hit.memory.id)
    assert memory is not None
    assert memory.retrieval_count == 1
    assert shared_repo.search("nobody", query_text="tea", profile=ALONE, teams=["nobody"]) == []
