"""Memory OS moves in: nothing is lost, and the ranking is the one of its own formula."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from pgrecall import MemoryRepository, import_file, profiles
from pgrecall.core.ids import id_of_key
from tests.integration.moving_in import ROOT, Row, assert_ranked, days
from tests.integration.support import before, read, similar

TIER_HOURS = {"short": 6, "medium": 7 * 24, "long": 90 * 24}


def memory_os_line(number: int, tier: str, similarity: float, **values: Any) -> Row:
    """A memory as the API returns it, with a vector, which the API does not return."""
    return {
        "id": f"mem_{number}",
        "content": f"memory {number}",
        "content_type": "fact",
        "tier": tier,
        "memory_nature": "semantic",
        "relevance_score": 0.3,
        "importance_score": 0.5,
        "confidence_score": 0.9,
        "decay_rate": 0.1,
        "access_count": 0,
        "last_accessed_at": None,
        "parent_memory_id": None,
        "external_id": None,
        "source_id": "crm",
        "metadata": {},
        "pii_detected": False,
        "pii_fields": [],
        "integrity_hash": "9f2c",
        "created_at": before(3).isoformat(),
        "updated_at": before(1).isoformat(),
        "expires_at": None,
        "embedding": similar(similarity),
    } | values


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
    mapping = (ROOT / "sql/adhoc/import/memory_os.map").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(\w+)=(.*)$", mapping, re.MULTILINE))
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
    asked = {"query_entities": ["Ann", "Bob"]}
    assert_ranked(own_repo, "carla", profiles.tiered, ranked, memory_os_score, **asked)
    first, fifth = read(own_repo, "carla", ids[0]), read(own_repo, "carla", ids[4])
    assert (first.memory_nature, first.content_type, first.confidence) == ("semantic", "fact", 0.9)
    assert (first.retrieval_count, first.updated_at) == (5, before(1))
    assert first.metadata.items() >= {"relevance_score": 0.3, "source_id": "crm"}.items()
    assert (first.expires_at, fifth.expires_at) == (None, before(1))
    [link] = own_repo.links.of("carla", ids[1])
    assert (link.source_id, link.target_id) == (ids[1], ids[0])
