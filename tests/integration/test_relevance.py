"""What a query tells: min_relevance and its arithmetic, the same for every profile; and weights of
signals that a query gives nothing to compare with, which go to the others."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, Profile, profiles, score
from pgrecall.errors import InputError
from pgrecall.scoring.signals import EntityOverlap, Importance, Keyword, Similarity, Time
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner, north
from tests.integration.rank_indexes import build
from tests.integration.recalling import Connection, recall
from tests.integration.support import NORTH, NOW, at, before, contents, similar
from tests.integration.test_profiles_agree import cosine

AGENT, TEAM = "agent", "red"
COMMON = [f"word{n}x" for n in range(12)]
ONLY_TEAM = [f"team{n}x" for n in range(4)]
LATE = "latex"
"""A word that the agent has only since thirty days."""
QUERY = [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0]
TEXTS = [
    "word1x word2x",
    "word1x nobodyhasit",
    "nobodyhasit neithertoo",
    "team1x word3x",
    "latex word4x nobodyhasit",
    "the",
]
CLOSE = 1e-6
"""Embeddings are stored as float4."""


class Known(NamedTuple):
    owner_id: str
    id: UUID
    content: str
    embedding: Any
    created_at: Any


class World(NamedTuple):
    repository: MemoryRepository
    memories: Sequence[Known]


def memory(dice: random.Random, number: int, words: list[str]) -> NewMemory:
    created = before(dice.uniform(31, 300))
    content = " ".join(dice.choices(words, k=dice.randint(1, 8))) + f" no{number}x"
    if number % 9 == 0:
        content += f" {LATE}"
        created = before(dice.uniform(1, 29))
    if number % 7 == 0:
        content += " and" * dice.randint(100, 400)  # long, by words that do not count
    return NewMemory(
        content,
        embedding=None if number % 11 == 0 else [dice.gauss(0, 1) for _ in range(DIMENSIONS)],
        created_at=created,
        importance=dice.random(),
    )


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    dice = random.Random("relevance")
    repo = MemoryRepository(module_engine)
    found = []
    for among, name, owner, words, size in (
        (repo, AGENT, AGENT, COMMON, 250),
        (repo.teams, TEAM, f"team:{TEAM}", COMMON[:4] + ONLY_TEAM, 60),
    ):
        new = [memory(dice, number, words) for number in range(size)]
        found += [
            Known(owner, id_, one.content, one.embedding, one.created_at)
            for id_, one in zip(among.add_many(name, new), new, strict=True)
        ]
    build(repo, AGENT)
    return World(repo, found)


def relevances(
    memories: Sequence[Known],
    vector: list[float] | None,
    text: str | None,
    *,
    teams: bool = False,
    as_of: datetime | None = None,
) -> dict[Any, float]:
    """By the definition: owner by owner, every term of the query in the denominator."""
    terms = set(text.split()) - {"the"} if text else set()
    found = {}
    for owner in {AGENT, f"team:{TEAM}"} if teams else {AGENT}:
        theirs = [
            one
            for one in memories
            if one.owner_id == owner and (as_of is None or one.created_at <= as_of)
        ]
        idf = {}
        for term in terms:
            having = sum(term in one.content.split() for one in theirs)
            idf[term] = math.log(1 + (len(theirs) - having + 0.5) / (having + 0.5))
        for one in theirs:
            parts = []
            if vector is not None:
                lacks = one.embedding is None
                parts.append(0.0 if lacks else max(0.0, cosine(one.embedding, vector)))
            if terms:
                share = sum(idf[term] for term in terms & set(one.content.split()))
                size = len(one.content.encode())
                parts.append(share / sum(idf.values()) / (0.2 + 0.8 * max(1, size / 400)))
            found[one.id] = sum(parts) / len(parts) if parts else 0.0
    return found


@pytest.mark.parametrize("teams", [(), (TEAM,)], ids=["alone", "team"])
@pytest.mark.parametrize("as_of", [None, before(30)], ids=["now", "earlier"])
def test_relevance_is_that_of_its_definition(
    world: World, as_of: datetime | None, teams: tuple[str, ...]
) -> None:
    asked: dict[str, Any] = {"teams": teams, "as_of": as_of, "min_relevance": 0, "touch": False}
    for number, text in enumerate(TEXTS):
        for vector in (None, QUERY):
            expected = relevances(world.memories, vector, text, teams=bool(teams), as_of=as_of)
            profile = (profiles.hybrid, profiles.five_factor)[(number + bool(vector)) % 2]

            hits = world.repository.search(
                AGENT, vector, k=600, keywords=text, profile=profile, **asked
            )

            found = {hit.memory.id: hit.relevance for hit in hits}
            assert found == pytest.approx(expected, abs=CLOSE)
    wordless = world.repository.search(AGENT, QUERY, k=600, **asked)
    assert [hit.relevance for hit in wordless] == [hit.similarity or 0.0 for hit in wordless]


@pytest.mark.parametrize("strategy", ["exact", "index"])
@pytest.mark.parametrize("teams", [[], [TEAM]], ids=["alone", "team"])
def test_a_floor_leaves_the_best_of_what_reaches_it(
    world: World, teams: list[str], strategy: Any
) -> None:
    for text, profile in product(TEXTS[:2], ("hybrid", "five_factor")):
        given: dict[str, Any] = {"keywords": text, "profile": profile, "as_of": NOW}
        given |= {"teams": teams, "touch": False}
        every = world.repository.search(AGENT, QUERY, k=600, min_relevance=0, **given)
        for floor in (0.05, 0.4, 1.0):
            hits = world.repository.search(
                AGENT, QUERY, min_relevance=floor, strategy=strategy, **given
            )

            expected = [hit.memory.id for hit in every if (hit.relevance or 0) >= floor][:10]
            assert [hit.memory.id for hit in hits] == expected


def test_what_nobody_has_counts_against_relevance_and_not_against_the_score(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    capital = "The capital of the company grew to two million."
    repo.add("a", NewMemory(capital, embedding=similar(0.1)))
    repo.add("a", NewMemory("Mara likes tea.", embedding=similar(0.2)))

    [first, *_] = repo.search("a", at(0), keywords="capital of Mongolia", min_relevance=0)

    assert first.memory.content == capital
    assert first.signals["keyword"] == 1.0
    unknown, known = math.log(1 + 2.5 / 0.5), math.log(1 + 1.5 / 1.5)
    share = known / (known + unknown)
    assert first.relevance == pytest.approx((0.1 + share) / 2, abs=CLOSE)
    assert repo.search("a", at(0), keywords="capital of Mongolia", min_relevance=0.25) == []
    assert contents(repo.search("a", at(0), keywords="capital", min_relevance=0.25)) == [capital]


@pytest.mark.parametrize("floor", [None, 0.4])
def test_explain_tells_relevance(world: World, floor: float | None) -> None:
    for text, profile in product((None, *TEXTS), ("hybrid", "five_factor")):
        expected = relevances(world.memories, QUERY, text, as_of=NOW)
        asked: dict[str, Any] = {"keywords": text, "as_of": NOW, "min_relevance": floor}
        for one in world.memories[:12:4]:
            found = world.repository.explain(AGENT, one.id, QUERY, profile=profile, **asked)

            assert found.hit.relevance == pytest.approx(expected[one.id], abs=CLOSE)
            reason = f"its relevance {found.hit.relevance:.6f} is below min_relevance 0.4"
            is_below = floor is not None and expected[one.id] < floor
            assert (reason in found.reasons) is is_below


def test_explain_accounts_for_the_keyword_signal(world: World) -> None:
    text = "word1x word2x nobodyhasit"
    kinds = set()
    for one in (*world.memories[:8], *world.memories[14:60:7]):
        found = world.repository.explain(AGENT, one.id, keywords=text, as_of=NOW)

        [account] = (signal for signal in found.signals if signal.name == "keyword")
        factor = 1 / (0.2 + 0.8 * max(1, len(one.content.encode()) / 400))
        assert account.length_factor == pytest.approx(factor)
        assert account.of_terms is not None
        assert account.of_terms * factor == pytest.approx(account.value)
        assert {term.term for term in found.terms if term.left_out} == {"nobodyhasit"}
        kinds.add((factor < 1, account.of_terms > 0))
        others = [signal for signal in found.signals if signal.name != "keyword"]
        assert {(signal.of_terms, signal.length_factor) for signal in others} == {(None, None)}
        assert found.record()["account"][1]["length_factor"] == round(factor, 6)
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


def test_a_floor_is_refused_where_there_is_nothing_to_compare_with_and_none_is_needed(
    world: World, connection: Connection
) -> None:
    nothing = "min_relevance needs query or keywords"
    cases: list[tuple[Any, float, str]] = [(None, floor, nothing) for floor in (0, 0.5)]
    cases += [(QUERY, bad, "min_relevance") for bad in (-0.1, 1.5, math.nan)]
    for query, floor, message in cases:
        with pytest.raises(InputError, match=message):
            world.repository.search(AGENT, query, min_relevance=floor)
    asked: dict[str, Any] = {"k": 1, "keywords": "word1x", "touch": False}
    [hit] = world.repository.search(AGENT, QUERY, profile="five_factor", **asked)
    assert (hit.relevance, "relevance" in hit.record()) == (None, False)


def test_a_search_says_when_nothing_is_on_the_subject(mine: Owner, connection: Connection) -> None:
    """By the floor of its profile; the nearest are returned all the same."""
    mine.add_many([north("tea in Porto"), north("coffee", embedding=at(80))])
    for query, words, best, is_relevant in (
        (NORTH, "tea", 1.0, True),
        (at(172), "gravel", 0.0, False),
        (at(90), "mountains", math.cos(math.radians(10)) / 2, True),
        (at(164), "mountains", math.cos(math.radians(84)) / 2, False),
        (None, "tea", 1.0, True),
        (None, "gravel", 0.0, False),
        (NORTH, None, 1.0, True),
    ):
        hits = mine.search(query, keywords=words, touch=False)
        assert len(hits) == 2
        assert hits.relevance == pytest.approx(best, abs=1e-6)
        assert hits.is_relevant is is_relevant
        assert ("nothing on this subject" in str(hits)) is not is_relevant
        assert ("nothing on this subject" in str(hits._repr_html_())) is not is_relevant
    assert mine.search(None, touch=False).is_relevant is None
    assert mine.search(NORTH, profile="five_factor", touch=False).is_relevant is None
    context = mine.context(at(172), keywords="gravel", touch=False)
    assert context.notice.startswith("nothing on this subject: the best relevance is 0.000")
    assert "coffee" in context.notice or "tea" in context.notice
    assert mine.context(NORTH, keywords="tea", touch=False).notice == ""


LENIENT = Profile("lenient", {Similarity(): 0.5, Keyword(): 0.5}, redistribute=True)
STRICT = Profile("strict", dict(LENIENT.signals), redistribute=True, min_relevance=0.7)
WORDLESS = Profile("wordless", {Similarity(): 0.5, Importance(): 0.5}, min_relevance=0.7)


def test_a_context_takes_the_floor_of_the_profile(world: World) -> None:
    asked: dict[str, Any] = {"keywords": "word1x word2x", "as_of": NOW, "touch": False}
    for profile in (STRICT, WORDLESS):
        strict = world.repository.context(AGENT, QUERY, profile=profile, k=500, **asked)
        every = world.repository.search(
            AGENT, QUERY, profile=profile, k=500, min_relevance=0, **asked
        )

        reached = [hit.memory.id for hit in every if (hit.relevance or 0) >= 0.7]
        assert [one.hit.memory.id for one in strict.packed] == reached != []
        assert {one.reason for one in strict.left_out} == {"min_relevance"}
        assert [one.hit.score for one in strict.left_out] == sorted(
            (one.hit.score for one in strict.left_out), reverse=True
        )
        assert (strict.min_relevance, strict.empty_because) == (0.7, None)
        assert strict.best_relevance == max(hit.relevance or 0 for hit in every)

    none = world.repository.context(AGENT, QUERY, profile=LENIENT, **asked)
    off = world.repository.context(AGENT, QUERY, profile=STRICT, min_relevance=0, **asked)
    assert none.min_relevance is None
    assert [one.hit for one in off.packed] == [one.hit for one in none.packed]
    assert none.best_relevance is None


def test_a_context_says_which_floor_emptied_it(world: World) -> None:
    def of(**given: Any) -> Any:
        return world.repository.context(AGENT, QUERY, as_of=NOW, touch=False, **given)

    empty = of(min_relevance=1)
    assert (empty.text, empty.packed, empty.empty_because) == ("", (), "min_relevance")
    assert empty.record()["empty_because"] == "min_relevance"
    assert empty.record()["min_relevance"] == 1
    assert empty.record()["left_out"][0]["relevance"] == pytest.approx(
        empty.left_out[0].hit.relevance, abs=1e-6
    )
    assert of(min_score=1).empty_because == "min_score"
    assert of(max_tokens=6).empty_because is None
    assert of(filter={"tags": "nothing has it"}).empty_because is None
    assert world.repository.context(AGENT, as_of=NOW, touch=False).min_relevance is None


# Weights that go to the others


EXACT = 1e-12
STOP_WORDS, SIGNS = "the and of", "!&| 🙂 …"
MIXED = Profile(
    "mixed",
    {Similarity(): 0.3, Keyword(): 0.2, EntityOverlap(): 0.3, Time(): 0.1, Importance(): 0.1},
    redistribute=True,
)
PERIOD = (before(4), before(2))
ASKED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a vector": {"query": NORTH},
    "words": {"keywords": "tea"},
    "words that do not count": {"keywords": STOP_WORDS},
    "no words": {"keywords": ""},
    "signs": {"keywords": SIGNS},
    "a vector and words that do not count": {"query": NORTH, "keywords": STOP_WORDS},
    "a vector and words": {"query": NORTH, "keywords": "tea lamp"},
    "entities": {"entities": ["Ada"]},
    "a period": {"period": (before(10), before(8))},
    "all": {"query": NORTH, "keywords": "lamp", "entities": ["Ada"], "period": PERIOD},
}
TOLD = {
    "query": "similarity",
    "keywords": "keyword",
    "entities": "entity_overlap",
    "period": "time",
}
each_question = pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))


@pytest.fixture
def told(mine: Owner) -> Owner:
    mine.add_many(
        [
            north("tea", importance=0.9, created_at=before(days=3)),
            NewMemory("lamp", embedding=at(70), entities=["Ada"], created_at=before(days=9)),
            NewMemory("tea lamp", embedding=at(150), importance=0.1, created_at=before(days=1)),
        ]
    )
    return mine


def weights(profile: Profile, asked: dict[str, Any]) -> dict[str, float]:
    """By hand: those of what is told, divided by their sum."""
    untold = {name for given, name in TOLD.items() if not asked.get(given)}
    if asked.get("keywords") in (STOP_WORDS, SIGNS):
        untold.add("keyword")
    kept = {n: 0.0 if n in untold else w for n, w in profile.weights.items()}
    return {name: weight / math.fsum(kept.values()) for name, weight in kept.items()}


@each_question
def test_what_a_query_does_not_tell_gives_its_weight_to_the_others(
    told: Owner, connection: Connection, asked: dict[str, Any]
) -> None:
    """In searches, in explanations, in psql, and in evaluations, where a floor leaves out the
    same memories."""
    for profile in (MIXED, profiles.hybrid):
        hits = told.search(**asked, profile=profile, touch=False, as_of=NOW)

        wanted = weights(profile, asked)
        assert len(hits) == 3
        for hit in hits:
            assert hit.contributions == pytest.approx(
                {name: wanted[name] * value for name, value in hit.signals.items()},
                rel=0,
                abs=EXACT,
            )
            assert hit.score == pytest.approx(math.fsum(hit.contributions.values()), abs=EXACT)
        why = told.explain(hits[-1].memory.id, **asked, profile=profile, as_of=NOW)
        assert why.hit == hits[-1]
        assert {one.name: one.weight for one in why.signals} == pytest.approx(wanted, abs=EXACT)

        query = JudgedQuery(
            asked.get("query"),
            {hit.memory.id: 1.0 for hit in hits},
            keywords=asked.get("keywords"),
            entities=asked.get("entities") or [],
            period=asked.get("period"),
        )
        for hit in hits:
            floor = max(hit.score - 1e-9, 0.0)
            [found] = told.evaluation.evaluate(
                [query], profiles=[profile], min_score=floor, as_of=NOW, k=3
            ).profiles
            [recalled] = found.per_query["recall"]
            assert recalled == pytest.approx(sum(one.score >= floor for one in hits) / 3)

    rows = recall(connection, "hybrid", told.name, **asked, as_of=NOW)
    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["score"] for row in rows] == pytest.approx([hit.score for hit in hits], abs=EXACT)


def test_the_scorer_gives_away_what_is_not_named() -> None:
    values = {"similarity": 0.5, "importance": 0.2}

    found = score(MIXED, values)

    assert found.score == pytest.approx((0.3 * 0.5 + 0.1 * 0.2) / 0.4)
    none_there = score(MIXED, {**values, "similarity": None, "keyword": None})
    assert none_there.score == pytest.approx(0.1 * 0.2 / 0.6), "asked, but the memory has nothing"
