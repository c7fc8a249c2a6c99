"""Five systems move in as their pages say: nothing is lost, and the ranking is the one of their own
formula."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from math import exp
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from pgrecall import MemoryRepository, Profile, import_file, profiles
from pgrecall.core.ids import id_of_key
from pgrecall.errors import InputError
from pgrecall.migrate.moving_in import import_from
from tests.integration.sources import GRACE, IBEX_HARNESS, LEARNINGS, RADAROS
from tests.integration.support import NORTH, NOW, before, read, similar
from tests.integration.test_pages import blocks

Row = dict[str, Any]
PAGE = "docs/migrating/{}.md"


def naive(moment: datetime | None) -> datetime | None:
    """As a column without a time zone has it, which is in UTC."""
    return None if moment is None else moment.replace(tzinfo=None)


def insert(connection: psycopg.Connection[Any], table: str, rows: Sequence[Row]) -> None:
    for row in rows:
        values = [Jsonb(v) if isinstance(v, dict) else v for v in row.values()]
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(sql.Placeholder() * len(row)),
            ),
            values,
        )


class Halfway:
    """An embedder that finds every text half as near to NORTH as NORTH itself."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [similar(0.5) for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return similar(0.5)


@pytest.fixture
def own_repo(own_engine: Engine) -> MemoryRepository:
    return MemoryRepository(own_engine, embedder=Halfway())


def commands(system: str) -> list[argparse.Namespace]:
    """The imports of a system's page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--map", action="append", default=[])
    parser.add_argument("--no-check-compliance", dest="check_compliance", action="store_false")
    for name in ("from", "table", "agent", "model", "timezone"):
        parser.add_argument(f"--{name}")
    lines = "".join(one.code for one in blocks(PAGE.format(system)) if one.language == "sh")
    found = [shlex.split(line) for line in lines.replace("\\\n", "").splitlines()]
    return [parser.parse_args(words[2:]) for words in found if words[:2] == ["pgrecall", "import"]]


def imported(repo: MemoryRepository, url: str, system: str, **changed: Any) -> tuple[int, int]:
    """How many memories the imports of a page add, and how many are there already."""
    added = already_there = 0
    for given in commands(system):
        if given.table is None:
            continue
        names = dict(pair.split("=") for pair in given.map)
        options: dict[str, Any] = {
            "table": "theirs." + given.table.rpartition(".")[2],
            "model": given.model,
            "timezone": given.timezone,
            "check_compliance": given.check_compliance,
            "fields": names,
        }
        done = import_from(repo, given.agent, "table", url, **options | changed)
        added, already_there = added + done.added, already_there + done.already_there
    return added, already_there


def moves(repo: MemoryRepository, url: str, system: str, memories: int) -> None:
    """The recipe moves so many, and nothing when it runs again."""
    assert imported(repo, url, system) == (memories, 0)
    assert imported(repo, url, system) == (0, memories)


def make_view(theirs: psycopg.Connection[Any], system: str) -> None:
    """The view of a page, among the tables that are there."""
    [code] = [one.code for one in blocks(PAGE.format(system)) if "CREATE VIEW" in one.code]
    theirs.execute(code.replace("ibex_core.", "theirs.").encode())


def assert_ranked(
    repo: MemoryRepository,
    owner: str,
    profile: Profile,
    rows: Mapping[UUID, Row],
    formula: Callable[[Row], float],
    **options: Any,
) -> None:
    """A search ranks these rows, and no others, by their formula."""
    expected = {one: formula(row) for one, row in rows.items()}
    hits = repo.search(owner, NORTH, profile=profile, k=100, as_of=NOW, touch=False, **options)

    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-9)
    ranking = [expected[hit.memory.id] for hit in hits]
    assert ranking == sorted(ranking, reverse=True)


def days(since: datetime) -> float:
    return (NOW - since) / timedelta(days=1)


# Grace

GRACES_FACTORS: Mapping[str, Callable[[float], float]] = {
    "hyperbolic": lambda half_lives: 1 / (1 + half_lives),
    "exponential": lambda half_lives: 0.5**half_lives,
    "linear": lambda half_lives: max(0.0, 1 - half_lives / 2),
}


def grace_row(number: int, curve: str, half_life: float, trust: float, **values: Any) -> Row:
    accessed, created = values.pop("accessed", None), values.pop("created", 20)
    row: Row = {"id": number, "memory_ref": f"mem_{number:016x}", "loop_id": "loop-1"}
    row |= {"component": "reflection", "output_type": "reasoning"}
    row |= {"result_data": f'"result {number}"', "importance": number / 10}
    row |= {"trust_score": trust, "provenance_score": 0.75, "consensus_score": 0.5}
    row |= {"governance_score": 1.0, "usage_score": 0.0, "created_at": before(created)}
    row |= {"decay_curve": curve, "half_life_hours": half_life}
    return row | {"last_accessed_at": accessed and before(accessed)} | values


def grace_score(row: Row) -> float:
    """0.40 decayed trust + 0.35 similarity + 0.15 / (1 + hours / 168) + 0.10 importance."""
    trust, accessed = row["trust_score"], row["last_accessed_at"]
    if accessed is not None:
        half_lives = days(accessed) * 24 / row["half_life_hours"]
        trust *= GRACES_FACTORS[row["decay_curve"]](half_lives)
    recency = 1 / (1 + days(row["created_at"]) * 24 / 168)
    score = 0.40 * trust + 0.35 * row["similarity"] + 0.15 * recency + 0.10 * row["importance"]
    return float(score)


def test_grace(own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository) -> None:
    used = {"access_count": 6, "success_count": 5, "failure_count": 1}
    rows = [
        grace_row(1, "hyperbolic", 168, 0.8, accessed=7, **used),
        grace_row(2, "exponential", 72, 0.6, accessed=1, created=3),
        # The same result of another component is another memory.
        grace_row(3, "linear", 24, 0.9, accessed=1.5, result_data='"result 2"', component="hunter"),
        grace_row(4, "linear", 24, 0.4, constitutional_compliance=False, requires_approval=True),
        grace_row(
            *(5, "hyperbolic", 120, 0.5),
            result_data='{"choice": "b"}',
            policy_tags='[{"policy_name": "privacy", "status": "violation", "reason": ""}]',
            audit_log_id=7,
        )
        | {"metadata": '{"user": "ann"}'},
        grace_row(6, "hyperbolic", 120, 0.9, is_archived=True),
        grace_row(7, "hyperbolic", 120, 0.9, is_deleted=True, updated_at=before(2)),
    ]
    theirs.execute(GRACE.replace("meta_data", "metadata"))
    insert(theirs, "cognition_memory_artifacts", rows)
    first = {"artifact_id": 1, "actor": "system"}
    events = [
        first
        | {"event_type": "initial", "reason": "Initial trust", "created_at": before(20)}
        | {"old_trust_score": 0, "new_trust_score": 0.75, "delta": 0.75}
        | {"provenance_delta": 0.75, "consensus_delta": 0.5, "governance_delta": 1},
        first
        | {"event_type": "successful_use", "reason": "success", "created_at": before(7)}
        | {"old_trust_score": 0.75, "new_trust_score": 0.8, "delta": 0.05, "usage_delta": 0.25}
        | {"metadata": '{"access_count": 6}'},
    ]
    insert(theirs, "cognition_trust_events", events)
    labels = [("keyword", "billing", 4), ("component", "reflection", 1), ("policy", "privacy", 2)]
    for kind, value, weight in labels:
        label = {"index_type": kind, "index_value": value, "weight": weight}
        insert(theirs, "cognition_memory_index", [{"artifact_id": 1} | label])

    make_view(theirs, "grace")
    moves(own_repo, own_url, "grace", 7)

    ids = {row["id"]: id_of_key("grace", row["memory_ref"]) for row in rows}
    for number, similarity in ((1, 0.25), (2, 1), (4, 0.75)):  # Grace has no vectors
        rows[number - 1]["similarity"] = similarity
        own_repo.update("grace", ids[number], embedding=similar(similarity))
    ranked = {ids[row["id"]]: {"similarity": 0.5} | row for row in rows[:5]}
    assert_ranked(own_repo, "grace", profiles.trust, ranked, grace_score)
    one, four, five, six = (read(own_repo, "grace", ids[number]) for number in (1, 4, 5, 6))
    assert (one.key, one.content, one.loop) == (rows[0]["memory_ref"], "result 1", "loop-1")
    assert (one.retrieval_count, one.success_count, one.failure_count) == (6, 5, 1)
    assert (one.trust, one.trust_provenance, one.trust_governance) == (0.8, 0.75, 1.0)
    assert (four.compliant, four.requires_approval, four.violates_policy) == (False, True, False)
    assert (five.content, five.violates_policy) == ('{"choice": "b"}', True)
    assert five.metadata.items() >= {"user": "ann", "audit_log_id": 7}.items()
    assert six.status == "archived"
    seven = read(own_repo, "grace", ids[7])
    assert (seven.invalidation_reason, seven.invalidated_at) == ("forgotten", before(2))
    assert one.tags == ["keyword:billing", "component:reflection", "policy:privacy"]
    initial, success, *_ = own_repo.history("grace", ids[1])
    assert (initial.event_type, initial.occurred_at) == ("initial", before(20))
    assert (initial.delta("trust_provenance"), initial.delta()) == (0.75, 0.75)
    assert (success.event_type, success.reason) == ("reinforcement", "success")
    assert (success.actor, success.new_values["trust"]) == ("system", 0.8)
    assert (success.delta("trust_usage"), success.delta("trust_provenance")) == (0.25, 0)
    assert success.metadata == {"event_type": "successful_use", "access_count": 6}


# IBEX Harness

IBEX_AGENT, IBEX_ORGANISATION = UUID(int=900), UUID(int=901)


def ibex_row(number: int, similarity: float, age: float | None, **values: Any) -> Row:
    row: Row = {"id": UUID(int=number), "org_id": IBEX_ORGANISATION, "agent_id": IBEX_AGENT}
    row |= {"content": f"memory {number}", "content_tokens": 3, "category": "factual"}
    row |= {"valid_from": before(100), "observed_at": before(50), "updated_at": before(1)}
    row |= {"created_at": None if age is None else before(age), "retrieval_count": 0}
    row |= {"embedding": str(similar(similarity)), "embedding_model": "bge-m3"}
    row |= {"confidence": 0.8, "usefulness_score": 0.5, "similarity": similarity}
    return row | values


def ibex_score(row: Row) -> float:
    """0.40 relevance + 0.25 recency + 0.20 usefulness + 0.10 confidence + 0.05 frequency."""
    recency = 0.5 if row["created_at"] is None else exp(-0.05 * days(row["created_at"]))
    frequency = min(row["retrieval_count"] / 50, 1)
    score = 0.40 * row["similarity"] + 0.25 * recency + 0.20 * row["usefulness_score"]
    return float(score + 0.10 * row["confidence"] + 0.05 * frequency)


def test_ibex_harness(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    old, new, merged, whole = (UUID(int=number) for number in (5, 6, 7, 1))
    rows = [
        ibex_row(1, 0.75, 14, usefulness_score=0.9, retrieval_count=60, session_id=UUID(int=77)),
        ibex_row(2, 0.5, 1, confidence=0.3, retrieval_count=10, last_retrieved_at=before(2)),
        ibex_row(3, 0.25, None, category="preference", metadata={"tone": "dry"}),
        # The same text, valid later, is another memory.
        ibex_row(4, 0.25, 3, content="memory 2", pii_detected=True),
        ibex_row(5, 1, 40, status="superseded", superseded_by=new),
        ibex_row(6, 1, 20),
        ibex_row(7, 1, 20, status="merged_into", merged_into=whole),
        ibex_row(8, 1, 20, status="archived"),
        ibex_row(9, 1, 20, status="quarantined"),
        ibex_row(10, 1, 20, valid_until=before(2)),
        ibex_row(11, 1, 20, status="deleted"),
    ]
    theirs.execute(IBEX_HARNESS)
    insert(theirs, "memories", [{k: v for k, v in r.items() if k != "similarity"} for r in rows])
    labels = [("factual", 1.0), ("procedural", 0.75)]
    insert(
        theirs,
        "memory_labels",
        [{"memory_id": whole, "label": label, "confidence": share} for label, share in labels],
    )
    insert(
        theirs,
        "memory_relationships",
        [
            {"source_memory_id": new, "target_memory_id": old, "relationship_type": "supersedes"}
            | {"confidence": 0.95, "resolution_notes": "moved", "created_at": before(20)}
        ],
    )
    vote = {"memory_id": whole, "agent_id": IBEX_AGENT, "feedback": "positive", "notes": "good"}
    insert(theirs, "memory_feedback", [vote | {"updated_at": before(4)}])

    make_view(theirs, "ibex-harness")
    moves(own_repo, own_url, "ibex-harness", 10)

    agent = str(IBEX_AGENT)
    ranked = {row["id"]: row for row in rows if row["id"].int in (1, 2, 3, 4, 6)}
    assert_ranked(own_repo, agent, profiles.five_factor, ranked, ibex_score)
    one, two, three, four, five, _, seven, eight, nine, ten = (
        read(own_repo, agent, row["id"]) for row in rows[:10]
    )
    assert (one.memory_type, one.additional_types) == ("factual", ["procedural"])
    assert (one.session, one.embedding_model) == (str(UUID(int=77)), "bge-m3")
    assert (two.retrieval_count, two.last_accessed_at) == (10, before(2))
    assert (three.created_at, three.observed_at, three.metadata["tone"]) == (
        None,
        before(50),
        "dry",
    )
    assert four.metadata.items() >= {"pii_detected": True, "source": "extracted"}.items()
    assert (five.status, five.superseded_by, five.invalidated_at) == ("active", new, before(20))
    assert [one.status for one in (seven, eight, nine)] == ["consolidated", "archived", "archived"]
    assert nine.metadata["quarantined"] is True
    assert (ten.valid_from, ten.valid_until) == (before(100), before(2))
    [link], [merge] = own_repo.links.of(agent, new), own_repo.links.of(agent, merged)
    assert (link.target_id, link.kind, link.weight) == (old, "supersedes", 0.95)
    assert (merge.target_id, merge.kind) == (whole, "merged_into")
    [voted], [linked] = own_repo.history(agent, whole), own_repo.history(agent, new)
    assert (voted.event_type, voted.reason, voted.occurred_at) == ("feedback", "good", before(4))
    assert (voted.actor, voted.metadata) == (agent, {"feedback": "positive"})
    assert (linked.event_type, linked.reason) == ("linked", "moved")


# Memory OS

TIER_HOURS = {"short": 6, "medium": 7 * 24, "long": 90 * 24}


def memory_os_line(number: int, tier: str, similarity: float, **values: Any) -> Row:
    """A memory as the API returns it, with a vector, which the API does not return."""
    line: Row = {"id": f"mem_{number}", "content": f"memory {number}", "content_type": "fact"}
    line |= {"tier": tier, "memory_nature": "semantic", "relevance_score": 0.3, "metadata": {}}
    line |= {"importance_score": 0.5, "confidence_score": 0.9, "decay_rate": 0.1}
    line |= {"access_count": 0, "last_accessed_at": None, "parent_memory_id": None}
    line |= {"external_id": None, "source_id": "crm", "pii_detected": False, "pii_fields": []}
    line |= {"integrity_hash": "9f2c", "created_at": before(3).isoformat()}
    line |= {"updated_at": before(1).isoformat(), "expires_at": None}
    return line | {"embedding": similar(similarity)} | values


def memory_os_score(line: Row) -> float:
    """0.40 similarity + 0.20 recency + 0.15 importance + 0.10 access + 0.10 feedback + 0.05 entity;
    without votes, feedback is 0.5."""
    used = datetime.fromisoformat(line["last_accessed_at"] or line["created_at"])
    recency = 0.5 ** (days(used) * 24 / TIER_HOURS[line["tier"]])
    entity = len({"Ann", "Bob"} & {*line.get("entities", ())}) / 2
    score = 0.40 * line["embedding"][0] + 0.20 * recency + 0.15 * line["importance_score"]
    return float(score + 0.10 * min(1, line["access_count"] / 20) + 0.10 * 0.5 + 0.05 * entity)


def test_memory_os(own_url: str, own_repo: MemoryRepository, tmp_path: Path) -> None:
    """By the mapping of the page for readers."""
    [given] = commands("memory-os")
    fields = dict(pair.split("=") for pair in given.map)
    used = {"access_count": 5, "last_accessed_at": before(0.5).isoformat()}
    lines = [
        memory_os_line(1, "short", 0.5, **used),
        memory_os_line(2, "medium", 0.75, importance_score=0.9, parent_memory_id="mem_1"),
        memory_os_line(3, "long", 0.25, access_count=40, entities=["Ann", "Cid"]),
        # The same text is another memory.
        memory_os_line(4, "long", 0.125, content="memory 3", created_at=before(90).isoformat()),
        memory_os_line(5, "short", 1, expires_at=before(1).isoformat()),
    ]
    file = tmp_path / "memory_os.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def imported() -> tuple[int, int]:
        done = import_file(own_repo, "carla", file, fields=fields)
        return done.added, done.already_there

    assert (imported(), imported()) == ((5, 0), (0, 5))

    ids = [id_of_key("carla", line["id"]) for line in lines]
    ranked = dict(zip(ids[:4], lines[:4], strict=True))
    asked = {"entities": ["Ann", "Bob"]}
    assert_ranked(own_repo, "carla", profiles.tiered, ranked, memory_os_score, **asked)
    first, fifth = read(own_repo, "carla", ids[0]), read(own_repo, "carla", ids[4])
    assert (first.memory_nature, first.content_type, first.confidence) == ("semantic", "fact", 0.9)
    assert (first.retrieval_count, first.updated_at) == (5, before(1))
    assert first.metadata.items() >= {"relevance_score": 0.3, "source_id": "crm"}.items()
    assert (first.expires_at, fifth.expires_at) == (None, before(1))
    [link] = own_repo.links.of("carla", ids[1])
    assert (link.source_id, link.target_id) == (ids[1], ids[0])


# RadarOS


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
        radaros_fact(5, 7, fact="Lives in Oslo.", importance=0.25)
    ]
    events = [radaros_fact(6, 3, event="Opened a shop.", date="2026-05-29")]
    entity: Row = {"entityId": "ines", "entityType": "person", "name": "Ines", "properties": {}}
    entity |= {"description": "a friend", "facts": entity_facts, "events": events}
    entity |= {"relationships": [{"targetEntityId": "acme", "type": "works_at"}]}
    entity |= {"createdAt": before(9).isoformat(), "updatedAt": before(3).isoformat()}
    acme: Row = {"entityId": "acme", "entityType": "company", "name": "Acme"}
    acme |= {"properties": {"a": 1}, "facts": [], "events": [], "relationships": []}
    acme |= {"createdAt": before(9).isoformat()}
    learnings = [
        radaros_fact(7, 14, title="Refunds", content="Ask first.", tags=["refund"], context="shop")
        | {"scope": "user", "userId": "ann", "importance": 0.75, "similarity": 0.25},
        radaros_fact(8, 14, title="Mail", content="Be brief.", scope="agent", agentName="helper")
        | {"similarity": 1},
    ]
    theirs.execute(RADAROS + LEARNINGS)
    of_ann = {"namespace": "memory:entities:global:user:ann"}
    noted = {"namespace": "memory:learnings"}
    insert(
        theirs,
        "kv_store",
        [{"namespace": "memory:user-facts", "key": "ann"} | {"value": Jsonb(facts)}],
    )
    insert(
        theirs, "kv_store", [of_ann | {"key": e["entityId"], "value": e} for e in (entity, acme)]
    )
    insert(theirs, "kv_store", [noted | {"key": one["id"], "value": one} for one in learnings])
    vectors = [{"id": one["id"], "content": one["title"]} for one in learnings]
    for row, learnt in zip(vectors, learnings, strict=True):
        row["embedding"] = str(similar(learnt["similarity"]))
    insert(theirs, "agentium_learnings", vectors)

    make_view(theirs, "radaros")
    moves(own_repo, own_url, "radaros", 10)

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


# Siestai

_SIESTAI = """
CREATE TABLE {0}_memories (
    id uuid PRIMARY KEY, {1}, content text, embedding vector(8), memory_type varchar(30),
    source_session_id uuid, importance real, created_at timestamp, last_accessed_at timestamp);
"""
SIESTAI = (
    _SIESTAI.format("agent", "agent_id uuid")
    + _SIESTAI.format("team", "team_id uuid, created_by_agent_id uuid")
    + _SIESTAI.format("adhoc", "user_id text, participant_agent_ids jsonb")
)


def siestai_row(number: int, similarity: float, importance: float, **values: Any) -> Row:
    created, accessed = values.pop("created", 40), values.pop("accessed", None)
    row: Row = {"id": UUID(int=number), "content": f"memory {number}", "memory_type": "fact"}
    row |= {"embedding": str(similar(similarity)), "importance": importance}
    row |= {"created_at": naive(before(created))}
    used = created if accessed is None else accessed
    return row | {"last_accessed_at": naive(before(used))} | values


def siestai_score(row: Row) -> float:
    """0.5 similarity + 0.3 importance + 0.2 exp(-0.05 · days since the last access)."""
    similarity = 0.5 if row["embedding"] is None else float(row["embedding"][1:].split(",")[0])
    idle = days(row["last_accessed_at"].replace(tzinfo=NOW.tzinfo))
    return float(0.5 * similarity + 0.3 * row["importance"] + 0.2 * exp(-0.05 * idle))


def test_siestai(own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository) -> None:
    agent, team, session = UUID(int=900), UUID(int=901), UUID(int=902)
    mine = [
        siestai_row(1, 0.75, 0.5, agent_id=agent, source_session_id=session),
        siestai_row(2, 0.5, 0.25, accessed=1, agent_id=agent, memory_type="skill"),
        siestai_row(3, 0.25, 1, accessed=30, agent_id=agent),
        # The same text at another time is another memory.
        siestai_row(4, 0.25, 1, created=2, agent_id=agent, content="memory 3"),
        siestai_row(5, 0.5, 1, agent_id=agent, embedding=None),
    ]
    of_team = [
        siestai_row(6, 1, 0.5, accessed=7, team_id=team, created_by_agent_id=agent),
        siestai_row(7, 0, 0.75, created=1, team_id=team, content="memory 3"),
    ]
    adhoc = [siestai_row(8, 0.5, 0.5, user_id="user-1", participant_agent_ids=None)]
    theirs.execute(SIESTAI)
    for table, rows in zip(("agent", "team", "adhoc"), (mine, of_team, adhoc), strict=True):
        insert(theirs, f"{table}_memories", rows)

    moves(own_repo, own_url, "siestai", 8)

    ranked = {row["id"]: row for row in [*mine, *of_team]}
    profile = profiles.last_access
    assert_ranked(own_repo, str(agent), profile, ranked, siestai_score, teams=[str(team)])
    assert_ranked(own_repo, "user-1", profile, {adhoc[0]["id"]: adhoc[0]}, siestai_score)
    first, second = (read(own_repo, str(agent), row["id"]) for row in mine[:2])
    assert (first.session, first.created_at) == (str(session), before(40))
    assert (first.last_accessed_at, second.last_accessed_at) == (before(40), before(1))
    assert (second.memory_type, second.retrieval_count) == ("skill", 0)
    shared = read(own_repo.teams, str(team), of_team[0]["id"])
    assert shared.metadata == {"created_by_agent_id": str(agent)}
    assert own_repo.count(str(agent)) == 5


# Refused


def test_a_user_does_not_become_a_team(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    theirs.execute(SIESTAI)
    insert(theirs, "adhoc_memories", [siestai_row(1, 0.5, 0.5, user_id="team:red")])

    with pytest.raises(InputError, match="team:"):
        imported(own_repo, own_url, "siestai")

    assert own_repo.owners() == own_repo.teams.owners() == []
