"""RadarOS moves in: nothing is lost, and the ranking is the one of its own formula."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgrecall import MemoryRepository, profiles
from pgrecall.core.ids import id_of_key
from tests.integration.moving_in import Row, assert_ranked, days, insert, outcomes
from tests.integration.support import before, read, similar
from tests.integration.test_adhoc import Database

RADAROS = """
CREATE TABLE kv_store (
    namespace text NOT NULL, key text NOT NULL, value jsonb NOT NULL,
    updated_at timestamptz DEFAULT now(), PRIMARY KEY (namespace, key));
"""
LEARNINGS = """
CREATE TABLE agentium_learnings (
    id text PRIMARY KEY, content text NOT NULL, embedding vector(8), metadata jsonb DEFAULT '{}',
    created_at timestamptz DEFAULT now());
"""


def radaros_fact(number: int, age: float, **values: Any) -> Row:
    created = before(age).isoformat()
    return {"id": str(UUID(int=number)), "validFrom": created, "createdAt": created} | values


def radaros_score(value: Row) -> float:
    """0.4 similarity + 0.3 · 0.5 ^ (age / 14 days) + 0.3 importance; what is missing is 0.5."""
    age = days(datetime.fromisoformat(value["createdAt"]))
    importance, similarity = value.get("importance", 0.5), value.get("similarity", 0.5)
    return float(0.4 * similarity + 0.3 * 0.5 ** (age / 14) + 0.3 * importance)


def test_radaros(own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository) -> None:
    superseded = {"invalidatedAt": before(5).isoformat(), "invalidationReason": "superseded"}
    forgotten = {"invalidatedAt": before(5).isoformat(), "invalidationReason": "forgotten"}
    facts = [
        radaros_fact(1, 2, fact="Lives in Oslo.", subject="location", importance=0.9, topics=["x"]),
        radaros_fact(2, 28, fact="Lives in Bergen.", subject="location", **superseded),
        radaros_fact(3, 40, fact="Likes jazz.", source="manual", input="I like jazz"),
        radaros_fact(4, 1, fact="Was ill.", **forgotten),
    ]
    entity_facts = [
        # A text that is a fact about the user too.
        radaros_fact(5, 7, fact="Lives in Oslo.", importance=0.25),
    ]
    events = [radaros_fact(6, 3, event="Opened a shop.", date="2026-05-29")]
    entity: Row = {"entityId": "ines", "entityType": "person", "name": "Ines", "properties": {}}
    entity |= {"description": "a friend", "facts": entity_facts, "events": events}
    entity |= {"relationships": [{"targetEntityId": "acme", "type": "works_at"}]}
    entity |= {"createdAt": before(9).isoformat(), "updatedAt": before(3).isoformat()}
    acme = {
        "entityId": "acme",
        "entityType": "company",
        "name": "Acme",
        "properties": {"a": 1},
        "facts": [],
        "events": [],
        "relationships": [],
        "createdAt": before(9).isoformat(),
    }
    learnings = [
        radaros_fact(7, 14, title="Refunds", content="Ask first.", tags=["refund"], context="shop")
        | {"scope": "user", "userId": "ann", "importance": 0.75, "similarity": 0.25},
        radaros_fact(8, 14, title="Mail", content="Be brief.", scope="agent", agentName="helper")
        | {"similarity": 1},
    ]
    theirs.execute(RADAROS + LEARNINGS)
    of_ann = {"namespace": "memory:entities:global:user:ann"}
    user_facts = [{"namespace": "memory:user-facts", "key": "ann", "value": Jsonb(facts)}]
    insert(theirs, "kv_store", user_facts)
    insert(
        theirs, "kv_store", [of_ann | {"key": e["entityId"], "value": e} for e in (entity, acme)]
    )
    insert(
        theirs,
        "kv_store",
        [{"namespace": "memory:learnings", "key": one["id"], "value": one} for one in learnings],
    )
    insert(
        theirs,
        "agentium_learnings",
        [
            {"id": one["id"], "content": one["title"], "embedding": str(similar(one["similarity"]))}
            for one in learnings
        ],
    )

    assert outcomes(own_url, "radaros.sql") == {"inserted": 10}
    assert outcomes(own_url, "radaros.sql") == {"known": 10}

    ines, company = (id_of_key("ann", f"entity:{name}") for name in ("ines", "acme"))
    known = [facts[0], facts[2], *entity_facts, *events, *learnings]
    ranked = {UUID(value["id"]): value for value in known} | {ines: entity, company: acme}
    assert_ranked(own_repo, "ann", profiles.half_life, ranked, radaros_score, teams=["helper"])
    one, two, three, four, five, six, seven = (
        read(own_repo, "ann", UUID(int=number)) for number in range(1, 8)
    )
    assert (one.memory_type, one.subject, one.tags) == ("fact", "location", ["x"])
    assert (two.invalidated_at, two.invalidation_reason) == (before(5), "superseded")
    assert (three.valid_from, three.importance) == (before(40), 0.5)
    assert three.metadata == {"source": "manual", "input": "I like jazz"}
    assert four.invalidation_reason == "forgotten"
    assert (five.memory_type, five.entities, five.subject) == ("entity_fact", ["Ines"], "Ines")
    assert (six.memory_type, six.metadata) == ("entity_event", {"date": "2026-05-29"})
    assert (seven.content, seven.tags) == ("Refunds: Ask first.", ["refund"])
    assert read(own_repo, "ann", ines).content == "Ines: a friend"
    [works_at] = [one for one in own_repo.links.of("ann", ines) if one.source_id == ines]
    assert (works_at.target_id, works_at.kind) == (company, "works_at")
    [about] = own_repo.links.of("ann", five.id)
    assert (about.target_id, about.kind) == (ines, "about")


def test_radaros_without_vectors(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    learning = radaros_fact(1, 14, title="A", content="b", scope="global")
    theirs.execute(RADAROS)
    insert(
        *(theirs, "kv_store"),
        [{"namespace": "memory:learnings", "key": learning["id"], "value": learning}],
    )

    assert outcomes(own_url, "radaros.sql") == {"inserted": 1}
    assert_ranked(
        *(own_repo.teams, "global", profiles.half_life),
        *({UUID(int=1): learning}, radaros_score),
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"namespace": "memory:user-facts", "key": "team:red", "value": {}},
        {"namespace": "memory:entities:global:user:team:red", "key": "ines", "value": {}},
        {"namespace": "memory:learnings", "key": "1", "value": {"userId": "team:red"}},
    ],
)
def test_a_user_of_radaros_does_not_become_a_team(
    own_url: str, theirs: psycopg.Connection[Any], entry: Row
) -> None:
    theirs.execute(RADAROS)
    insert(theirs, "kv_store", [entry])

    refused = Database(own_url).run("import/radaros.sql", source="theirs")

    assert (refused.code, refused.printed) == (3, "")
    assert "the id of a user begins with team:" in refused.errors
