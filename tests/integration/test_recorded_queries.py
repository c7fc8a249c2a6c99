"""Labels that were recorded: feedback and outcomes told with the query they were for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, Profile
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.scoring.signals import (
    Clock,
    Frequency,
    Importance,
    Recency,
    Similarity,
    Trust,
    Usefulness,
)
from tests.integration.compass import North
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, at

MEANING = Profile("meaning", {Similarity(): 1.0})


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Owner:
    return Owner(shared_engine, agent, embedder=North())


def remembered(mine: Owner, number: int = 4) -> list[UUID]:
    """Memories ranked in this order, sorted by id."""
    return [*mine.add_many([north(f"memory {n}", embedding=at(10 * n)) for n in range(number)])]


def labels(mine: Owner) -> dict[Any, list[UUID]]:
    return {query.query: [*query.relevant] for query in mine.evaluation.recorded_queries()}


def events(mine: Owner) -> list[Any]:
    return mine.sql(
        "SELECT metadata, occurred_at FROM pgrecall.memory_events WHERE agent_id = :agent "
        "AND event_type IN ('feedback', 'reinforcement', 'penalty') ORDER BY occurred_at, id"
    )


def test_what_was_useful_becomes_a_label(mine: Owner) -> None:
    a, b, gone, _ = remembered(mine)
    for memory in (b, a, gone):
        mine.feedback(memory, "useful", query="what does she drink?")
    mine.feedback(gone, "useful", query="gone")
    mine.delete(gone)

    [found] = mine.evaluation.recorded_queries()

    [(metadata, first), *_] = events(mine)
    assert found == JudgedQuery(
        "what does she drink?", [a, b], as_of=first, agent_id=mine.name, recorded=True
    )
    assert metadata == {"kind": "useful", "query": "what does she drink?"}


def test_a_success_becomes_a_label(mine: Owner) -> None:
    """Also of a memory whose trust was never assessed."""
    a = mine.add(north("a", trust=None))
    [b] = remembered(mine, 1)
    mine.record_outcome(a, "success", query="the door code", touch=False)
    mine.record_outcome(b, "failure", query="the door code", touch=False)

    assert labels(mine) == {"the door code": [a]}
    assert [metadata for metadata, _ in events(mine)] == [{"query": "the door code"}] * 2


FOR = {
    *("useful", "success", "useful useful not_useful", "useful success outdated"),
    "success useful success useful incorrect",
}
AGAINST = {
    *("not_useful", "outdated", "incorrect", "failure", "useful not_useful", "success failure"),
    *("success useful success incorrect", "incorrect success useful success"),
}


def vote(mine: Owner, memory: UUID, kind: Any, query: str) -> None:
    if kind in ("success", "failure"):
        mine.record_outcome(memory, kind, query=query)
    else:
        mine.feedback(memory, kind, query=query)


def test_more_votes_for_than_against_make_a_label(mine: Owner) -> None:
    """Of each query by its own votes alone."""
    memory, other = remembered(mine, 2)
    for votes in FOR | AGAINST:
        mine.feedback(other, "useful", query=votes)
        for kind in votes.split():
            vote(mine, memory, kind, votes)
    mine.feedback(memory, "incorrect")

    assert labels(mine) == {
        votes: sorted([memory, other] if votes in FOR else [other]) for votes in FOR | AGAINST
    }


def test_what_is_recorded_without_a_query_or_a_vote_for_it_is_no_label(mine: Owner) -> None:
    memory, *_ = remembered(mine)
    mine.feedback(memory, "useful")
    mine.record_outcome(memory, "success")
    mine.upkeep.adjust_trust(memory, 0.1, "because", "me", metadata={"query": "q"})
    for value in (5, None, True, ["q"], {"q": 1}, "", "   "):
        mine.feedback(memory, "useful", metadata={"query": value})
    with pytest.raises(MemoryNotFound):
        mine.feedback(UUID(int=7), "useful", query="q")
    mine.feedback(memory, "not_useful", query="q", metadata={"kind": "useful"})
    mine.record_outcome(memory, "failure", query="q", metadata={"kind": "useful"})

    assert mine.evaluation.recorded_queries() == []


def test_the_query_goes_beside_other_metadata(mine: Owner) -> None:
    memory, *_ = remembered(mine)
    given = {"session": 7, "query": "of the metadata"}

    mine.feedback(memory, "useful", metadata=given, query="said")
    mine.record_outcome(memory, "success", metadata=given)

    assert labels(mine) == {"said": [memory], "of the metadata": [memory]}
    assert events(mine)[0][0] == {"session": 7, "query": "said", "kind": "useful"}
    assert given == {"session": 7, "query": "of the metadata"}


def test_invalidated_memories_are_labels_of_their_time(mine: Owner) -> None:
    a, *_ = remembered(mine)
    mine.feedback(a, "useful", query="q")
    [then] = mine.evaluation.recorded_queries()

    mine.invalidate(a)

    assert mine.evaluation.recorded_queries() == [then]
    [found] = mine.evaluation.evaluate([then], profiles=[MEANING]).profiles
    assert found.per_query["mrr"] == [1.0]
    later = JudgedQuery("q", [a])
    [found] = mine.evaluation.evaluate([later], profiles=[MEANING]).profiles
    assert found.per_query["mrr"] == [0.0]


def test_the_moment_is_that_of_the_first_vote(mine: Owner) -> None:
    """Memories of later are no labels."""
    a, b, c, _ = remembered(mine)
    mine.feedback(c, "not_useful", query="q")  # makes no label
    mine.feedback(a, "useful", query="q")
    mine.feedback(b, "useful", query="q")
    mine.feedback(b, "useful", query="another")
    later = mine.add(north("later"))
    mine.feedback(later, "useful", query="q")

    another, query = mine.evaluation.recorded_queries()

    times = [occurred for metadata, occurred in events(mine)]
    assert (query.query, query.as_of, query.relevant) == ("q", times[1], [a, b])
    assert (another.query, another.as_of) == ("another", times[3])


def ranks(mine: Owner, profile: Profile, **more: Any) -> list[float]:
    """1 / the rank of the label of each recorded query."""
    queries = mine.evaluation.recorded_queries()
    [found] = mine.evaluation.evaluate(queries, profiles=[profile], **more).profiles
    return [*found.per_query["mrr"]]


LEARNED = {
    "usefulness": Profile("usefulness", {Usefulness(): 1.0}),
    "trust": Profile("trust", {Trust(): 1.0}),
    "trust as stored": Profile("stored", {Trust(decay=False): 1.0}),
    "frequency": Profile("frequency", {Frequency(cap=3): 1.0}),
    "importance": Profile("importance", {Importance(): 1.0}),
    "recency": Profile("recency", {Recency(half_life=1e-6, clock=Clock.LAST_ACCESSED_AT): 1.0}),
}


def test_the_votes_that_made_a_label_do_not_lift_it(mine: Owner) -> None:
    """Equal memories are ranked by id: the last of them stays last."""
    made = datetime.now(UTC) - timedelta(days=1)
    memories = [north(f"memory {n}", trust=0.5, created_at=made) for n in range(3)]
    label = sorted(mine.add_many(memories))[-1]
    for _ in range(2):
        mine.feedback(label, "useful", query="q")
        mine.record_outcome(label, "success", query="q")
    mine.update(label, importance=0.9)

    for profile in LEARNED.values():
        [first, *_] = mine.search("q", profile=profile, touch=False)
        assert first.memory.id == label
        assert ranks(mine, profile) == [1 / 3], profile.name


def test_what_was_known_before_counts_at_the_time_of_each_query(mine: Owner) -> None:
    """Each vote lifts its memory for the queries after it, and for those alone."""
    ids = sorted(remembered(mine))

    def lift(memory: UUID, importance: float) -> None:
        mine.feedback(memory, "useful", query=f"{importance}")
        mine.update(memory, importance=importance)

    lift(ids[3], 0.6)  # of four equals the last
    lift(ids[3], 0.7)  # the only one that was lifted
    lift(ids[2], 0.8)  # after that one and the two equals before it
    mine.feedback(ids[1], "incorrect")
    mine.update(ids[1], importance=0.0)

    for signal in ("usefulness", "importance"):
        assert ranks(mine, LEARNED[signal]) == [1 / 4, 1.0, 1 / 4]


def test_queries_whose_labels_were_given_are_ranked_by_what_is_known_now(mine: Owner) -> None:
    label = sorted(remembered(mine))[-1]
    then = datetime.now(UTC)
    mine.feedback(label, "useful", query="q")
    given = JudgedQuery("q", [label], as_of=then)
    queries = [given, replace(given, recorded=True)]

    [found] = mine.evaluation.evaluate(queries, profiles=[LEARNED["usefulness"]]).profiles

    assert found.per_query["mrr"] == [1.0, 1 / 4]


def test_a_floor_of_trust_is_that_of_the_time(mine: Owner) -> None:
    label = mine.add(north("a", trust=0.5))
    mine.record_outcome(label, "success", query="q")

    for least, mrr in ((0.5, 1.0), (0.501, 0.0)):
        assert ranks(mine, MEANING, min_trust=least) == [mrr]


def test_of_agent_and_team_each_has_a_past_of_its_own(mine: Owner) -> None:
    """Memories of one id: what was learned of the team's does not age the agent's."""
    both = mine.add(north("a", usefulness=0.6, id=UUID(int=9)))
    mine.team.add(north("a", usefulness=0.2, id=UUID(int=9)))
    label = mine.add(north("b", usefulness=0.5))
    mine.feedback(label, "useful", query="q")
    for one in (mine, mine.team):
        one.feedback(both, "useful")

    assert ranks(mine, LEARNED["usefulness"], teams=[mine.name]) == [1 / 2]


def test_what_is_recorded_in_psql_is_a_label_too(mine: Owner) -> None:
    a, b, c = remembered(mine, 3)
    calls = [(a, "record_feedback", "useful"), (b, "record_feedback", "useful")]
    calls += [(b, "record_outcome", "failure"), (c, "record_outcome", "success")]
    given = ':agent, :memory, :kind, metadata => \'{"query": "by hand"}\''
    for memory, function, kind in calls:
        mine.sql(f"SELECT * FROM pgrecall.{function}({given})", memory=memory, kind=kind)

    assert labels(mine) == {"by hand": [a, c]}


BAD: list[tuple[Any, str]] = [
    ("", r"the query is empty"),
    (" \t\n", r"the query is empty"),
    (5, r"query must be text, got int"),
    (NORTH, r"query must be text, got list"),
    ("a\0b", r"query contains a NUL"),
    ("\ud800", r"query contains a lone surrogate"),
]


def test_a_bad_query_is_refused_and_records_nothing(mine: Owner) -> None:
    memory, *_ = remembered(mine)
    before = mine.get(memory)

    query: Any
    for query, message in BAD:
        with pytest.raises(InputError, match=message):
            mine.feedback(memory, "useful", query=query)
        with pytest.raises(InputError, match=message):
            mine.record_outcome(memory, "success", query=query)
    owners: tuple[Any, ...] = ("", 5, None)
    for owner in owners:
        with pytest.raises(InputError, match="agent_id"):
            mine.repo.evaluation.recorded_queries(owner)

    assert mine.get(memory) == before
    assert events(mine) == []


def test_hostile_queries_come_back_as_they_were(mine: Owner) -> None:
    [memory] = remembered(mine, 1)
    hostile = [
        *("'; DROP TABLE x; --", "%s %(a)s :b ::c $1", "\\n \\u0041", "東京 🙂", '"{}'),
        *("x" * 9_000, "a? ", "A?", "a?"),
    ]
    for query in hostile:
        mine.feedback(memory, "useful", query=query)

    assert [*labels(mine)] == [query.query for query in mine.evaluation.recorded_queries()]
    assert set(labels(mine)) == set(hostile)
