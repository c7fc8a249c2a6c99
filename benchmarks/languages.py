"""`python -m benchmarks.languages`: what is found in German, Japanese and Arabic.

By meaning, by words and by both, with words compared as English, which is the default, as texts of
the language, and as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from benchmarks.labelled.languages import LANGUAGES, queries, stored
from benchmarks.measuring import print_table, say
from benchmarks.server import server
from pgrecall import Evaluation, MemoryRepository, Profile, migrate, profiles
from pgrecall.cli.embedding import make_embedder
from pgrecall.core.embedders import Embedder
from pgrecall.core.vectors import components_of
from pgrecall.migrate.connecting import engine_of
from pgrecall.migrate.settings import DEFAULT_LANGUAGE
from pgrecall.scoring.signals import Keyword, Similarity

K = 5
WORDS_FIRST = Profile("0.8 keyword", {Keyword(): 0.8, Similarity(): 0.2})
"""For an embedder that does not know the language."""
ORDER = ("similarity alone", "keyword alone", "hybrid", WORDS_FIRST.name)
PARSED = (DEFAULT_LANGUAGE, "simple", "german", "arabic")
"""The text search configurations that words are compared by. PostgreSQL has none for Japanese."""


@dataclass(frozen=True)
class Found:
    language: str
    parsed: str
    evaluation: Evaluation


def measured(url: str, embedder: Embedder) -> Iterator[Found]:
    """Each language by each configuration but that of another one."""
    engine = engine_of(url)
    dimensions = len(components_of(embedder.embed_query("How many dimensions?")))
    for parsed in PARSED:
        say(f"words as {parsed}")
        schema = f"words_{parsed}"
        migrate.upgrade(url, schema=schema, language=parsed, dimensions=dimensions)
        repo = MemoryRepository(engine, schema=schema, embedder=embedder)
        for language in LANGUAGES:
            if parsed == language or parsed not in LANGUAGES:
                stored(repo, language)
                evaluation = repo.evaluation.evaluate(
                    language, queries(language), profiles=[profiles.hybrid, WORDS_FIRST], k=K
                )
                yield Found(language, parsed, evaluation)
    engine.dispose()


def rows(found: list[Found]) -> Iterator[list[object]]:
    """recall@K and MRR of each profile."""
    for one in sorted(found, key=lambda one: LANGUAGES.index(one.language)):
        means = {each.profile.name: each.overall.means for each in one.evaluation.compared}
        cells = (f"{means[name]['recall']:.1f}, {means[name]['mrr']:.2f}" for name in ORDER)
        yield [one.language, one.parsed, *cells]


def main(
    embedder: Annotated[
        str | None, typer.Option(help="MODULE:OBJECT. Default: the local model.")
    ] = None,
) -> None:
    """recall@5 and MRR of 10 questions over 60 memories."""
    with server() as url:
        found = list(measured(url, make_embedder(embedder)))
    print_table("|".join(("texts", "words as", *ORDER)), rows(found))


if __name__ == "__main__":
    typer.run(main)
