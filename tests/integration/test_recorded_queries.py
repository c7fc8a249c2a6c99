"""Labels that were recorded: feedback and outcomes told with the query they were for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, Profile
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
from tests.integration.owner import north
from tests.integration.support import NORTH, at, sql

MEANING = Profile("meaning", {Similarity(): 1.0})


@pytest.fixture
def repo(shared_engine: Engine) -> MemoryRepository:
    return MemoryRepository(shared_engine, embedder=North())


def remembered(repo: MemoryRepository, agent: str, number: int = 4) -> list[UUID]:
    """Memories ranked in this order, sorted by id."""
    memories = [NewMemory(f"memory {n}", embedding=at(10 * n)) for n in range(number)]
    return [*repo.add_many(agent, memories)]


def labels(repo: MemoryRepository, agent: str) -> dict[Any, list[UUID]]:
    return {query.query: [*query.relevant] for query in repo.evaluation.recorded_queries(agent)}


def events(engine: Engine, agent: str) -> list[Any]:
    rows = sql(
        engine,
        "SELECT metadata, occurred_at FROM pgrecall.memory_events "
        "WHERE agent_id = :agent AND event_type IN ('feedback', 'reinforcement', 'penalty') "
        "ORDER BY occurred_at, id",
        agent=agent,
    )
    return [tuple(row) for row in rows]


def test_what_was_useful_becomes_a_label(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    a, b, gone, _ = remembered(repo, agent)
    for memory in (b, a, gone):
        repo.feedback(agent, memory, "useful", query="what does she drink?")
    repo.feedback(agent, gone, "useful", query="gone")
    repo.delete(agent, gone)

    [found] = repo.evaluation.recorded_queries(agent)

    [(metadata, first), *_] = events(shared_engine, agent)
    assert found == JudgedQuery(
        "what does she drink?", [a, b], as_of=first, agent_id=agent, recorded=True
    )
    assert metadata == {"kind": "useful", "query": "what does she drink?"}


def test_a_success_becomes_a_label(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    """Also of a memory whose trust was never assessed."""
    a = repo.add(agent, north("a", trust=None))
    [b] = remembered(repo, agent, 1)
    repo.record_outcome(agent, a, "success", query="the door code", touch=False)
    repo.record_outcome(agent, b, "failure", query="the door code", touch=False)

    assert labels(repo, agent) == {"the door code": [a]}
    assert [metadata for metadata, _ in events(shared_engine, agent)] == [
        {"query": "the door code"}
    ] * 2


FOR = {
    *("useful", "success", "useful useful not_useful", "useful success outdated"),
    "success useful success useful incorrect",
}
AGAINST = {
    *("not_useful", "outdated", "incorrect", "failure", "useful not_useful", "success failure"),
    *("success useful success incorrect", "incorrect success useful success"),
}


def vote(repo: MemoryRepository, agent: str, memory: UUID, kind: Any, query: str) -> None:
    if kind in ("success", "failure"):
        repo.record_outcome(agent, memory, kind, query=query)
    else:
        repo.feedback(agent, memory, kind, query=query)


def test_more_votes_for_than_against_make_a_label(repo: MemoryRepository, agent: str) -> None:
    """Of each query by its own votes alone."""
    memory, other = remembered(repo, agent, 2)
    for votes in FOR | AGAINST:
        repo.feedback(agent, other, "useful", query=votes)
        for kind in votes.split():
            vote(repo, agent, memory, kind, votes)
    repo.feedback(agent, memory, "incorrect")

    assert labels(repo, agent) == {
        votes: sorted([memory, other] if votes in FOR else [other]) for votes in FOR | AGAINST
    }


def test_what_is_recorded_without_a_query_or_a_vote_for_it_is_no_label(
    repo: MemoryRepository, agent: str
) -> None:
    memory, *_ = remembered(repo, agent)
    repo.feedback(agent, memory, "useful")
    repo.record_outcome(agent, memory, "success")
    repo.upkeep.adjust_trust(agent, memory, 0.1, "because", "me", metadata={"query": "q"})
    for value in (5, None, True, ["q"], {"q": 1}, "", "   "):
        repo.feedback(agent, memory, "useful", metadata={"query": value})
    with pytest.raises(MemoryNotFound):
        repo.feedback(agent, UUID(int=7), "useful", query="q")
    repo.feedback(agent, memory, "not_useful", query="q", metadata={"kind": "useful"})
    repo.record_outcome(agent, memory, "failure", query="q", metadata={"kind": "useful"})

    assert repo.evaluation.recorded_queries(agent) == []


def test_the_query_goes_beside_other_metadata(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    memory, *_ = remembered(repo, agent)
    given = {"session": 7, "query": "of the metadata"}

    repo.feedback(agent, memory, "useful", metadata=given, query="said")
    repo.record_outcome(agent, memory, "success", metadata=given)

    assert labels(repo, agent) == {"said": [memory], "of the metadata": [memory]}
    assert events(shared_engine, agent)[0][0] == {"session": 7, "query": "said", "kind": "useful"}
    assert given == {"session": 7, "query": "of the metadata"}


def test_invalidated_memories_are_labels_of_their_time(repo: MemoryRepository, agent: str) -> None:
    a, *_ = remembered(repo, agent)
    repo.feedback(agent, a, "useful", query="q")
    [then] = repo.evaluation.recorded_queries(agent)

    repo.invalidate(agent, a)

    assert repo.evaluation.recorded_queries(agent) == [then]
    [found] = repo.evaluation.evaluate(agent, [then], profiles=[MEANING]).profiles
    assert found.per_query["mrr"] == [1.0]
    later = JudgedQuery("q", [a])
    [found] = repo.evaluation.evaluate(agent, [later], profiles=[MEANING]).profiles
    assert found.per_query["mrr"] == [0.0]


def test_the_moment_is_that_of_the_first_vote(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    """Memories of later are no labels."""
    a, b, c, _ = remembered(repo, agent)
    repo.feedback(agent, c, "not_useful", query="q")  # makes no label
    repo.feedback(agent, a, "useful", query="q")
    repo.feedback(agent, b, "useful", query="q")
    repo.feedback(agent, b, "useful", query="another")
    later = repo.add(agent, north("later"))
    repo.feedback(agent, later, "useful", query="q")

    another, query = repo.evaluation.recorded_queries(agent)

    times = [occurred for metadata, occurred in events(shared_engine, agent)]
    assert (query.query, query.as_of, query.relevant) == ("q", times[1], [a, b])
    assert (another.query, another.as_of) == ("another", times[3])


# What was known at the time


def ranks(repo: MemoryRepository, agent: str, profile: Profile) -> list[float]:
    """1 / the rank of the label of each recorded query."""
    [found] = repo.evaluation.evaluate(
        agent, repo.evaluation.recorded_queries(agent), profiles=[profile]
    ).profiles
    return [*found.per_query["mrr"]]


LEARNED = {
    "usefulness": Profile("usefulness", {Usefulness(): 1.0}),
    "trust": Profile("trust", {Trust(): 1.0}),
    "trust as stored": Profile("stored", {Trust(decay=False): 1.0}),
    "frequency": Profile("frequency", {Frequency(cap=3): 1.0}),
    "importance": Profile("importance", {Importance(): 1.0}),
    "recency": Profile("recency", {Recency(half_life=1e-6, clock=Clock.LAST_ACCESSED_AT): 1.0}),
}


def test_the_votes_that_made_a_label_do_not_lift_it(repo: MemoryRepository, agent: str) -> None:
    """Equal memories are ranked by id: the last of them stays last."""
    made = datetime.now(UTC) - timedelta(days=1)
    memories = [north(f"memory {n}", trust=0.5, created_at=made) for n in range(3)]
    label = sorted(repo.add_many(agent, memories))[-1]
    for _ in range(2):
        repo.feedback(agent, label, "useful", query="q")
        repo.record_outcome(agent, label, "success", query="q")
    repo.update(agent, label, importance=0.9)

    for profile in LEARNED.values():
        [first, *_] = repo.search(agent, "q", profile=profile, touch=False)
        assert first.memory.id == label
        assert ranks(repo, agent, profile) == [1 / 3], profile.name


def test_what_was_known_before_counts_at_the_time_of_each_query(
    repo: MemoryRepository, agent: str
) -> None:
    """Each vote lifts its memory for the queries after it, and for those alone."""
    ids = sorted(remembered(repo, agent))

    def lift(memory: UUID, importance: float) -> None:
        repo.feedback(agent, memory, "useful", query=f"{importance}")
        repo.update(agent, memory, importance=importance)

    lift(ids[3], 0.6)  # of four equals the last
    lift(ids[3], 0.7)  # the only one that was lifted
    lift(ids[2], 0.8)  # after that one and the two equals before it
    repo.feedback(agent, ids[1], "incorrect")
    repo.update(agent, ids[1], importance=0.0)

    for signal in ("usefulness", "importance"):
        assert ranks(repo, agent, LEARNED[signal]) == [1 / 4, 1.0, 1 / 4]


def test_queries_whose_labels_were_given_are_ranked_by_what_is_known_now(
    repo: MemoryRepository, agent: str
) -> None:
    label = sorted(remembered(repo, agent))[-1]
    then = datetime.now(UTC)
    repo.feedback(agent, label, "useful", query="q")
    given = JudgedQuery("q", [label], as_of=then)
    queries = [given, replace(given, recorded=True)]

    [found] = repo.evaluation.evaluate(agent, queries, profiles=[LEARNED["usefulness"]]).profiles

    assert found.per_query["mrr"] == [1.0, 1 / 4]


def test_a_floor_of_trust_is_that_of_the_time(repo: MemoryRepository, agent: str) -> None:
    label = repo.add(agent, north("a", trust=0.5))
    repo.record_outcome(agent, label, "success", query="q")

    def found(min_trust: float) -> float:
        queries = repo.evaluation.recorded_queries(agent)
        evaluation = repo.evaluation.evaluate(
            agent, queries, profiles=[MEANING], min_trust=min_trust
        )
        return evaluation.profiles[0].per_query["mrr"][0]

    assert [found(0.5), found(0.501)] == [1.0, 0.0]


def test_of_agent_and_team_each_has_a_past_of_its_own(repo: MemoryRepository, agent: str) -> None:
    """Memories of one id: what was learned of the team's does not age the agent's."""
    mine, theirs = (north("a", usefulness=u, id=UUID(int=9)) for u in (0.6, 0.2))
    repo.teams.add(agent, theirs)
    both = repo.add(agent, mine)
    label = repo.add(agent, north("b", usefulness=0.5))
    repo.feedback(agent, label, "useful", query="q")
    for one in (repo, repo.teams):
        one.feedback(agent, both, "useful")
    queries = repo.evaluation.recorded_queries(agent)

    [found] = repo.evaluation.evaluate(
        agent, queries, profiles=[LEARNED["usefulness"]], teams=[agent]
    ).profiles

    assert found.per_query["mrr"] == [1 / 2]


def test_what_is_recorded_in_psql_is_a_label_too(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    a, b, c = remembered(repo, agent, 3)
    calls = [(a, "record_feedback", "useful"), (b, "record_feedback", "useful")]
    calls += [(b, "record_outcome", "failure"), (c, "record_outcome", "success")]
    for memory, function, kind in calls:
        sql(
            shared_engine,
            f"SELECT * FROM pgrecall.{function}(:agent, :memory, :kind, metadata => :metadata)",
            agent=agent,
            memory=memory,
            kind=kind,
            metadata=json.dumps({"query": "by hand"}),
        )

    assert labels(repo, agent) == {"by hand": [a, c]}


BAD: list[tuple[Any, str]] = [
    ("", r"the query is empty"),
    (" \t\n", r"the query is empty"),
    (5, r"query must be text, got int"),
    (NORTH, r"query must be text, got list"),
    ("a\0b", r"query contains a NUL"),
    ("\ud800", r"query contains a lone surrogate"),
]


def test_a_bad_query_is_refused_and_records_nothing(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    memory, *_ = remembered(repo, agent)
    before = repo.get(agent, memory)

    query: Any
    for query, message in BAD:
        with pytest.raises(InputError, match=message):
            repo.feedback(agent, memory, "useful", query=query)
        with pytest.raises(InputError, match=message):
            repo.record_outcome(agent, memory, "success", query=query)
    for owner in ("", 5, None):
        with pytest.raises(InputError, match="agent_id"):
            repo.evaluation.recorded_queries(owner)  # type: ignore[arg-type]

    assert repo.get(agent, memory) == before
    assert events(shared_engine, agent) == []


def test_hostile_queries_come_back_as_they_were(repo: MemoryRepository, agent: str) -> None:
    [memory] = remembered(repo, agent, 1)
    hostile = [
        *("'; DROP TABLE x; --", "%s %(a)s :b ::c $1", "\\n \\u0041", "東京 🙂", '"{}'),
        *("x" * 9_000, "a? ", "A?", "a?"),
    ]
    for query in hostile:
        repo.feedback(agent, memory, "useful", query=query)

    assert [*labels(repo, agent)] == [
        query.query for query in repo.evaluation.recorded_queries(agent)
    ]
    assert set(labels(repo, agent)) == set(hostile)
