"""`python -m benchmarks.ranking`: what profiles find on the labelled sets, by the local embedder.

Twelve owners, whose questions are asked at their own moments; 160 questions about 300 memories,
alone and, with --passages, hidden among 6,000 others. `similarity alone` is the order by cosine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.labelled import loading, owners
from benchmarks.measuring import print_table, say
from benchmarks.server import repository, server
from pgrecall import Evaluation, LocalEmbedder, MemoryRepository, Profile, migrate, profiles
from pgrecall.evaluation.results import Difference, ProfileEvaluation
from pgrecall.scoring.signals import Keyword, Similarity

K = 10
UNSHIFTED = Profile(
    "hybrid, unshifted",
    {
        Similarity() if signal.name == Similarity.name else signal: weight
        for signal, weight in profiles.hybrid
    },
    redistribute=True,
)
PARTS = (0.8, 0.6, 0.5, 0.4, 0.2)
"""Of similarity; the rest is the keyword signal's."""
MIXED = [
    Profile(
        f"{part:g} similarity + {1 - part:g} keyword", {Similarity(): part, Keyword(): 1 - part}
    )
    for part in PARTS
]
GENERAL = (
    *("What is the capital of Mongolia?", "How do I prove Fermat's last theorem?"),
    *("Who won the 1966 world cup final?", "Explain photosynthesis in chloroplasts."),
    *("What is the boiling point of tungsten?", "List the moons of Jupiter."),
    *("How does a diesel engine work?", "Translate 'butterfly' into Finnish."),
    *("What is quantum entanglement?", "When was the Ottoman empire founded?"),
    *("Write a haiku about volcanoes.", "What does HTTP status 418 mean?"),
    *("How tall is Mount Kilimanjaro?", "Who painted Guernica?"),
    *("What is the GDP of Peru?", "Which enzyme unwinds DNA?"),
)
"""Questions that are beside every owner's subjects."""
FLOORS = (0.06, 0.08, 0.1, 0.12, 0.14, 0.15, 0.2)


def of_owners(repo: MemoryRepository, agents: list[str], *, held_out: bool) -> list[Evaluation]:
    """With the dates in questions, and by hybrid without them."""
    asked = [
        query
        for agent in agents
        for query in owners.queries(agent, held_out=held_out, unanswered=True)
    ]
    compared = [profiles.hybrid, *(one for one in profiles.BUILT_IN.values()), UNSHIFTED]
    evaluate = repo.evaluation.evaluate
    undated = profiles.hybrid.renamed("hybrid, no dates")
    return [
        evaluate(None, asked, agents=agents, profiles=list(dict.fromkeys(compared)), k=K),
        evaluate(None, asked, agents=agents, profiles=[undated], k=K, period=None),
    ]


def print_groups(title: str, found: list[Evaluation]) -> None:
    """recall@K of each group, and how far the others are from the first profile."""
    first, *others = found
    every = [
        *(one for one in first.compared),
        *(one for more in others for one in more.profiles),
    ]
    groups = list(first.profiles[0].by_group)
    columns = "|".join([*groups, "all", "MRR", f"nDCG@{K}"])
    print_table(f"{title}: recall@{K}|{columns}", (_means(one, groups) for one in every))
    differences = ([one.profile.name, *_less(one, groups)] for one in first.compared)
    heading = f"{title}: recall@{K} less that of {first.profiles[0].profile.name}, 95 %"
    print_table("|".join([heading, *groups, "all"]), (row for row in differences if row[1:]))


def _means(one: ProfileEvaluation, groups: list[str]) -> list[object]:
    means = [one.by_group[group].means["recall"] for group in groups]
    overall = one.overall.means
    measures = (*means, overall["recall"], overall["mrr"], overall["ndcg"])
    return [one.profile.name, *(f"{mean:.3f}" for mean in measures)]


def _less(one: ProfileEvaluation, groups: list[str]) -> list[str]:
    scores = (*(one.by_group[group] for group in groups), one.overall)
    found = [of.differences.get("recall") for of in scores]
    return [_said(difference) for difference in found if difference is not None]


def _said(found: Difference) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def floors(
    repo: MemoryRepository, agents: list[str], answered: Evaluation
) -> Iterator[list[object]]:
    """The share of general questions that find nothing above a floor of relevance, and what it
    costs the questions that have an answer."""
    best = []
    for agent in agents:
        for query in GENERAL:
            hits = repo.search(agent, query, k=500, touch=False, min_relevance=0)
            best.append(max(hit.relevance or 0.0 for hit in hits))
    recalls = {one.min_relevance: one.recall for one in answered.floors or ()}
    for floor in FLOORS:
        silent = statistics.fmean(one < floor for one in best)
        yield [f"{floor:g}", f"{silent:.2f}", f"{recalls[floor]:.3f}" if floor in recalls else ""]


def main(
    passages: Annotated[
        Path | None,
        typer.Option(exists=True, help="JSON lines, gzipped: content; to hide answers among."),
    ] = None,
    held_out: Annotated[bool, typer.Option(help="The four owners that are kept back.")] = False,
) -> None:
    """Prints recall@10 of each group of questions."""
    with server() as url:
        migrate.upgrade(url)
        with repository(url, LocalEmbedder()) as repo:
            say("twelve owners")
            agents = owners.stored(repo)
            found = of_owners(repo, agents, held_out=held_out)
            print_groups("owners", found)
            print_table(
                f"min_relevance|silent|recall@{K} of those with an answer",
                floors(repo, agents, found[0]),
            )
            for name, agent in loading.stored(repo, passages).items():
                say(name)
                compared = [*profiles.BUILT_IN.values(), *MIXED]
                asked = loading.queries(agent)
                evaluate = repo.evaluation.evaluate
                print_groups(
                    name, [evaluate(agent, asked, profiles=compared, k=K, as_of=loading.NOW)]
                )


if __name__ == "__main__":
    typer.run(main)
