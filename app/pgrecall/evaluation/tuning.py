"""Tunes a profile by judged queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from random import Random
from typing import Unpack
from uuid import UUID

from pgrecall.core.checks import K
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.steps import Ask, Mode, Operation, needs
from pgrecall.core.validation import require_aware, require_count
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import (
    CheckedQuery,
    JudgedQuery,
    answered,
    prepared,
    with_vectors,
)
from pgrecall.evaluation.evaluating import (
    OnProgress,
    Reporting,
    baselines,
    count_missing,
    evaluation_of,
)
from pgrecall.evaluation.pairs import Pairs, drawn
from pgrecall.evaluation.ranks import Ranks, metrics, ranks, rerank_ranks, reranker_of
from pgrecall.evaluation.results import Evaluation
from pgrecall.evaluation.scored import Asked
from pgrecall.evaluation.tuned import Tuning
from pgrecall.evaluation.weight_search import Space, searched
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filter_keys import SIMILARITY
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import require_words
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BASELINES, checked_profile

FEWEST_QUERIES = 10
MAX_FOLDS = 100


@needs(Mode(reads=True, unlimited=True))
def tune(
    tables: Tables,
    /,
    agent_id: str | UUID | None,
    queries: Iterable[JudgedQuery],
    *,
    agents: Sequence[str | UUID] | None = None,
    start: Profile | str | None = None,
    k: int = 10,
    folds: int = 5,
    teams: Sequence[str | UUID] = (),
    as_of: datetime | None = None,
    period: tuple[datetime, datetime] | str | None = "auto",
    timezone: str | tzinfo | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    rerank: Rerank | Reranker | bool | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Tuning]:
    """Searches for weights of a profile's signals that rank what answers the queries first.

    What is found is judged by queries that did not choose it. The queries are split into `folds`,
    copies of a question together; with several owners, the owners are split. Each fold is ranked by
    what the other folds find, exactly as by `evaluate`. The result is what all queries find, by
    mean nDCG over all ranks, less a penalty for the weight that moves.

    A signal that is the same for all memories keeps its weight. `Tuning.proposed` is None unless
    nDCG@k rises. `start` is by default the default profile. The other arguments are those of
    `evaluate`; `rerank` judges in the evaluation, not while candidates are chosen.

    Raises InputError and its children.
    """
    require_aware("as_of", as_of)
    named = prepared(tables, queries, agent_id, agents, teams, period, timezone, as_of)
    _require_enough(answered(named))
    start_profile = None if start is None else checked_profile(start)
    k = K("k", k)
    folds = require_count("folds", folds, at_least=2, at_most=MAX_FOLDS)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    reporting = Reporting("tune", on_progress)
    reranker = yield from reranker_of(rerank, named)
    chosen = Filters.of(filters)
    if SIMILARITY in chosen.reads:
        raise InputError("filter: tune takes no similarity")
    checked = answered((yield from with_vectors(named)))
    _require_enough(checked, different=True)
    folded = folds_of(checked, folds, seed)
    profile = start_profile or (yield from default_profile(tables))
    yield from require_words(tables, chosen)
    context = Asked(tables, teams, chosen, as_of, rerank=reranker)
    work = _Work(context, checked, folded, profile, k, seed, reporting)
    return (yield from work.tuning())


@dataclass(frozen=True)
class _Work:
    """The arguments of a call of `tune`."""

    context: Asked
    checked: Sequence[CheckedQuery]
    folded: Sequence[int]
    """The fold of each query."""
    start: Profile
    k: int
    seed: int
    reporting: Reporting

    def tuning(self) -> Operation[Tuning]:
        different = list(dict.fromkeys(self.folded))
        self.reporting.of = len(different) + 3
        pairs = yield from drawn(self.context, self.checked, self.start)
        self.reporting.add()
        everything = range(len(self.checked))
        found = yield Ask("compute", (partial(self._solved, pairs, everything),))
        self.reporting.add()
        ranking: list[Ranks] = [{} for _ in everything]
        failed = 0
        for fold in different:
            training = [n for n in everything if self.folded[n] != fold]
            solution = yield Ask("compute", (partial(self._solved, pairs, training),))
            others = [n for n in everything if self.folded[n] == fold]
            known, stood = yield from self._ranks([solution], [self.checked[n] for n in others])
            failed += stood
            for number, [its] in zip(others, known, strict=True):
                ranking[number] = its
            self.reporting.add()
        held_out = yield from self._judged(found, ranking, failed)
        self.reporting.add()
        questions = len(set(map(question_key, self.checked)))
        return Tuning(self.start, found, held_out, questions)

    def _solved(self, pairs: Pairs, numbers: Sequence[int]) -> Profile:
        """The best by the queries with these numbers, named <name>_tuned. Takes seconds."""
        pairs, start = pairs.of(numbers), self.start.weights
        beginnings = [tuple(one.weights.get(name, 0.0) for name in start) for one in BASELINES]
        space = Space(tuple(start.values()), pairs.varying, beginnings, len(numbers))
        best = searched(pairs.worth, space, self.seed)
        if best != space.start:
            best = space.rounded(best)
        signals = dict(zip(self.start.signals, best, strict=True))
        return replace(self.start, name=f"{self.start.name}_tuned", signals=signals)

    def _ranks(
        self, profiles: Sequence[Profile], checked: Sequence[CheckedQuery]
    ) -> Operation[tuple[list[list[Ranks]], int]]:
        """The ranks of each query by these profiles, of which a reranker changes those of the
        first; and for how many queries it failed."""
        ranking, failed, rerank = [], 0, self.context.rerank
        for query in checked:
            known = yield from ranks(self.context, query, profiles)
            if rerank is not None:
                failed += yield from rerank_ranks(self.context, rerank, query, profiles[:1], known)
            ranking.append(known)
        return ranking, failed

    def _judged(
        self, found: Profile, ranking: Sequence[Ranks], failed: int
    ) -> Operation[Evaluation]:
        """The evaluation of what was found beside its start and the baselines."""
        beside = baselines((self.start, found), self.checked)
        known, stood = yield from self._ranks([self.start, *beside], self.checked)
        of_start, *of_baselines = zip(*known, strict=True)
        per_query = [
            [
                metrics(query.relevant, its, self.k)
                for query, its in zip(self.checked, one, strict=True)
            ]
            for one in (of_start, ranking, *of_baselines)
        ]
        missing = yield from count_missing(self.context, self.checked)
        reranks = self.context.rerank is not None
        profiles = [self.start, found]
        if reranks:
            profiles = [profile.renamed(f"{profile.name}_reranked") for profile in profiles]
        evaluation = evaluation_of(
            self.checked, profiles, (*profiles, *beside), per_query, self.k, self.seed, missing
        )
        return replace(evaluation, not_reranked=failed + stood) if reranks else evaluation


def _require_enough(checked: Sequence[CheckedQuery], *, different: bool = False) -> None:
    number = len(set(map(question_key, checked))) if different else len(checked)
    if number < FEWEST_QUERIES:
        ones = "" if number == len(checked) else f" different ones among {len(checked)}"
        raise InputError(
            f"tuning needs at least {FEWEST_QUERIES} judged queries, got {number}{ones}"
        )


def question_key(query: CheckedQuery) -> Hashable:
    """A key that is equal for copies of one question, which must be in the same part."""
    words = None if query.keywords is None else _plain(query.keywords)
    if isinstance(query.query, str):
        return query.agent_id, _plain(query.query), words
    if query.vector is not None:
        return query.agent_id, tuple(query.vector.to_list()), words
    # Without a vector or text, a query consists of its moment and entities.
    return query.agent_id, words or (query.as_of, tuple(query.entities or ()))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def folds_of(checked: Sequence[CheckedQuery], folds: int, seed: int) -> list[int]:
    """The fold of each query. If several owners have queries, each owner is in one fold, or else
    each question. Folds have about the same number of them; there are fewer folds if there are
    fewer owners or questions."""
    owners = [query.agent_id for query in checked]
    units: list[Hashable] = [*owners] if len({*owners}) > 1 else [*map(question_key, checked)]
    different = list(dict.fromkeys(units))
    Random(seed).shuffle(different)
    fold = {unit: place % folds for place, unit in enumerate(different)}
    return [fold[unit] for unit in units]
