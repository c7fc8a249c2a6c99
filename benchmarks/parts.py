"""`python -m benchmarks.parts`: what the parts of the default profile cost, as ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import create_engine, text

from benchmarks.data import DIMENSIONS, ENTITIES, VOCABULARY, Corpus, Floats
from benchmarks.evaluation.owners import UNSHIFTED
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import EntityOverlap

GOAL = 1.05
NAMED, NAMELESS = "entities, subject", "neither"
"""What the memories of the two owners have."""
FIRST = ("Ada", "Bruno", "Carla", "David", "Emma", "Fritz", "Greta", "Hugo", "Ines", "Jakob")
LAST = ("Adler", "Berg", "Conti", "Dahl", "Egger", "Frey", "Gruber", "Haas", "Imhof", "Jansen")
PEOPLE = dict(zip(ENTITIES, (f"{first} {last}" for last in LAST for first in FIRST), strict=True))
"""Names without numbers, which might be dates."""
DEFAULT, WITHOUT = "the default", "  none of the three"


def nameless(profile: Profile) -> Profile:
    """The same profile without a signal that compares names."""
    others = profile.without(EntityOverlap.name)
    weights = {one: weight for one, weight in others if one.name != EntityOverlap.name}
    return Profile(f"{profile.name}, no names", weights, redistribute=True)


def memories(corpus: Corpus, *, named: bool) -> Iterator[NewMemory]:
    for row in corpus:
        yield NewMemory(
            content=row.content,
            embedding=row.embedding,
            created_at=row.created_at,
            entities=[PEOPLE[one] for one in row.entities] if named else [],
            subject=LAST[0] if named else None,
        )


def contenders(repo: MemoryRepository, owner: str) -> dict[str, Callable[[Any], Any]]:
    """Searches with a query of a vector and a text."""

    def search(**how: Any) -> Callable[[tuple[Floats, str]], Any]:
        return lambda asked: repo.search(owner, asked[0], query_text=asked[1], touch=False, **how)

    return {
        DEFAULT: search(),
        "  dates are not read": search(dates="off"),
        "  the question is not shifted": search(profile=UNSHIFTED),
        "  names do not count": search(profile=nameless(profiles.hybrid)),
        WITHOUT: search(profile=nameless(UNSHIFTED), dates="off"),
    }


def main(
    rows: Annotated[int, typer.Option(min=100, help="Memories of one owner.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=5)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Measures searches of an owner with names and of one without, parts of the default off."""
    corpus = Corpus.of(rows, seed)
    queries = [
        (vector, f"What did {name} want for the {word} of the client?")
        for vector, name, word in zip(
            corpus.queries(20), PEOPLE.values(), VOCABULARY[-40:], strict=False
        )
    ]
    found = []
    with progress_bar() as progress, server() as url:
        migrate.upgrade(url, dimensions=DIMENSIONS)
        engine = create_engine(database_url(url))
        repo = MemoryRepository(engine)
        for owner, named in ((NAMED, True), (NAMELESS, False)):
            repo.add_many(owner, list(memories(corpus, named=named)))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
        for owner in (NAMED, NAMELESS):
            timings = measured(contenders(repo, owner), queries, rounds, progress)
            found.append(Measurement(f"{DEFAULT}, {owner}", timings[DEFAULT].median * 1000, "ms"))
            for name, timing in timings.items():
                if name != DEFAULT:
                    goal = GOAL if name == WITHOUT else None
                    ratio = timings[DEFAULT].over(timing)
                    found.append(Measurement(name, ratio, "×", goal))
        engine.dispose()
    print_table(
        Console(), f"{rows:,} memories of one owner; the default over itself with a part off", found
    )


if __name__ == "__main__":
    typer.run(main)
