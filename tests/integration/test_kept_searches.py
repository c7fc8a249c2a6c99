"""Searches return the ids and scores that were kept, in the order that was kept.

`random_memories.py` and `random_searches.py` draw what is stored and what is searched, and
tests/data/searches.json.gz has what these searches returned. To write it again, after a change that
is meant to alter rankings: `python -m tests.integration.test_kept_searches`.

Memories are stored in the transaction that searches. There now() is one point in time, so each age
is the same in every run.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, create_engine, text

from pgrecall import MemoryRepository, embedded, migrate
from tests.conftest import DIMENSIONS
from tests.integration.random_memories import ALIASES, SIZES, TEAMS, Embedder, links, memories
from tests.integration.random_searches import PROFILES, Case, cases

KEPT = Path(__file__).parent.parent / "data" / "searches.json.gz"
EXACT = 1e-9
SHOWN = 10
"""So many cases that differ are reported."""

Result = dict[str, Any]


class World:
    """The memories of `random_searches`, in one transaction, and what is asked about them."""

    def __init__(self, connection: Connection) -> None:
        self.repository = MemoryRepository(connection, embedder=Embedder())
        self.now: datetime = connection.execute(text("SELECT now()")).scalar_one()
        self.stored = memories(self.now)
        self.numbers = {one.new["id"]: number for number, one in enumerate(self.stored)}
        self._fill(connection)

    def _fill(self, connection: Connection) -> None:
        def run(statement: str, rows: list[dict[str, Any]]) -> None:
            connection.execute(text(statement), rows)

        for owner in SIZES:
            own = [one for one in self.stored if one.owner == owner]
            where: Any = self.repository.teams if owner in TEAMS else self.repository
            added = where.add_many(owner, [one.new for one in own], check_compliance=False)
            assert [*added] == [one.new["id"] for one in own]
        for one in self.stored:
            key = {"owner": one.stored_owner, "id": one.new["id"]}
            run(_update("agent_memories", one.state, "id"), [key | one.state])
            if one.usage:
                run(
                    "INSERT INTO pgrecall.memory_usage (agent_id, memory_id) VALUES (:owner, :id)"
                    " ON CONFLICT DO NOTHING",
                    [key],
                )
                run(_update("memory_usage", one.usage, "memory_id"), [key | one.usage])
        run(
            "INSERT INTO pgrecall.memory_links VALUES (:owner, :source, :target, :kind, :weight)"
            " ON CONFLICT DO NOTHING",
            [
                {
                    "owner": source.stored_owner,
                    "source": source.new["id"],
                    "target": target.new["id"],
                    "kind": kind,
                    "weight": weight,
                }
                for source, target, kind, weight in links()
            ],
        )
        owners = [{"owner": one} for one in sorted({one.stored_owner for one in self.stored})]
        for alias, entity in ALIASES.items():
            names = {"alias": alias, "entity": entity}
            run("SELECT pgrecall.alias(:owner, :alias, :entity)", [one | names for one in owners])
        run("SELECT pgrecall.refresh_owner(:owner)", owners)

    def results(self) -> Iterator[tuple[Case, Result]]:
        for case in cases(self.now):
            yield case, self.result(case)

    def result(self, case: Case) -> Result:
        """The hits, as the numbers of memories and their scores, and what else was asked."""
        agent, repository = case["agent"], self.repository
        arguments = arguments_of(case)
        hits = repository.search(agent, touch=False, strategy="exact", **arguments)
        result: Result = {
            "ids": [self.numbers[hit.memory.id] for hit in hits],
            "scores": [_rounded(hit.score) for hit in hits],
        }
        also = case.get("also")
        if also == "explain":
            id_ = self._memory_of(case, [hit.memory.id for hit in hits])
            of_search = {k: v for k, v in arguments.items() if k not in ("linked", "diversity")}
            explanation = repository.explain(agent, id_, **of_search)
            result["explained"] = [
                explanation.rank,
                explanation.ranked,
                explanation.passes,
                explanation.returned,
                _rounded(explanation.hit.score),
            ]
        elif also:
            chosen = narrowing_of(case)
            if also == "count":
                result["count"] = repository.count(agent, **chosen)
            else:
                page = repository.list(agent, order=case["order"], limit=20, **chosen)
                result["list"] = [self.numbers[memory.id] for memory in page]
        return result

    def _memory_of(self, case: Case, hits: Sequence[UUID]) -> UUID:
        owners = (case["agent"], *case.get("teams", ()))
        place: float = case["memory"]
        own = [one.new["id"] for one in self.stored if one.owner in owners]
        chosen = hits if hits and place < 0.5 else own
        return chosen[int(place * len(chosen))]


def _update(table: str, values: Mapping[str, Any], key: str) -> str:
    settings = ", ".join(f"{name} = :{name}" for name in values)
    return f"UPDATE pgrecall.{table} SET {settings} WHERE agent_id = :owner AND {key} = :id"


def _rounded(score: float) -> float:
    return float(f"{score:.12g}")


AS_THEY_ARE = (
    *("query", "k", "weights", "teams", "keywords", "min_score", "min_relevance"),
    *("entities", "period", "surrounding_turns", "linked", "diversity"),
)


def arguments_of(case: Case) -> dict[str, Any]:
    """The arguments of `search`."""
    arguments = {name: case[name] for name in case if name in AS_THEY_ARE}
    arguments["profile"] = PROFILES[case["profile"]]
    return arguments | narrowing_of(case)


def narrowing_of(case: Case) -> dict[str, Any]:
    """The arguments that say which memories are looked at."""
    return {name: case[name] for name in ("filter", "include_inactive", "as_of") if name in case}


def differences(found: Result, kept: Result) -> list[str]:
    """What differs, in a line each."""
    return [
        f"{name}: {found.get(name)} instead of {kept.get(name)}"
        for name in {**kept, **found}
        if not _is_same(found.get(name), kept.get(name))
    ]


def _is_same(found: Any, kept: Any) -> bool:
    if isinstance(found, float) and isinstance(kept, float):
        return math.isclose(found, kept, rel_tol=EXACT, abs_tol=EXACT)
    if isinstance(found, list) and isinstance(kept, list):
        return len(found) == len(kept) and all(map(_is_same, found, kept))
    return type(found) is type(kept) and bool(found == kept)


def test_searches_return_the_ids_and_scores_that_were_kept(module_engine: Engine) -> None:
    kept: list[Result] = json.loads(gzip.decompress(KEPT.read_bytes()))
    differing = []
    with module_engine.connect() as connection:
        world = World(connection)
        for number, (case, found) in enumerate(world.results()):
            if lines := differences(found, kept[number]):
                differing.append("\n  ".join([f"case {number}: {case}", *lines]))
        connection.rollback()

    assert number == len(kept) - 1
    shown = "\n".join(differing[:SHOWN])
    assert not differing, f"{len(differing)} of {len(kept)} differ, the first:\n{shown}"


def test_a_score_that_differs_in_the_ninth_place_is_noticed() -> None:
    kept = {"ids": [3, 1], "scores": [0.5, 0.25]}
    assert not differences({"ids": [3, 1], "scores": [0.5, 0.25 + 1e-10]}, kept)
    assert differences({"ids": [3, 1], "scores": [0.5, 0.25 + 2e-9]}, kept)
    assert differences({"ids": [1, 3], "scores": [0.5, 0.25]}, kept)
    assert differences({"ids": [3], "scores": [0.5]}, kept)


@contextmanager
def own_engine() -> Iterator[Engine]:
    with embedded.database() as url:
        migrate.upgrade(url, dimensions=DIMENSIONS)
        engine = create_engine(url)
        yield engine
        engine.dispose()


def write() -> None:
    with own_engine() as engine, engine.connect() as connection:
        results = [result for _, result in World(connection).results()]
        connection.rollback()
    written = json.dumps(results, separators=(",", ":")).encode()
    KEPT.write_bytes(gzip.compress(written, 9, mtime=0))


if __name__ == "__main__":
    write()
