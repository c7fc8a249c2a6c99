"""Tunes a profile by judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import Unpack
from uuid import UUID

from pgrecall.core.checks import K
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.steps import Ask, Mode, Operation, needs
from pgrecall.core.validation import require_aware, require_bool, require_count
from pgrecall.errors import InputError
from pgrecall.evaluation.batches import Asked, Batch
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.evaluating import baselines, count_missing, evaluation_of, scores_of
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.pairs import drawn
from pgrecall.evaluation.prepared_queries import answered, prepared, with_vectors
from pgrecall.evaluation.query_split import folds_of, question_key
from pgrecall.evaluation.ranks import Ranks, metrics, ranks
from pgrecall.evaluation.relevance_thresholds import (
    Floor,
    cross_validated,
    reached,
    require_precision,
)
from pgrecall.evaluation.reporting import OnProgress, Reporting
from pgrecall.evaluation.reranked_ranks import rerank_ranks, reranker_of
from pgrecall.evaluation.results import METRICS, Difference, Evaluation
from pgrecall.evaluation.solving import Problem, Solution
from pgrecall.evaluation.tunable import with_added
from pgrecall.evaluation.tuned import MovedQuery, Tuning
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import narrowing
from pgrecall.schema import Layout, Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import checked_profile

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
    arguments: bool = True,
    teams: Sequence[str | UUID] = (),
    as_of: datetime | None = None,
    dates: str | None = None,
    timezone: str | tzinfo | None = None,
    precision: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    rerank: Rerank | Reranker | bool | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Tuning]:
    """Searches for a profile that ranks what answers the queries first: weights, signals to add,
    their parameters, and the arguments `expand_session` and `lend` of a search.

    What is found is judged by queries that did not choose it. The queries are split into `folds`,
    copies of a question together; with several owners, the owners are split. Each fold is ranked by
    what the other folds find, exactly as by `evaluate`. The result is what all queries find.
    Candidates are compared by mean nDCG over all ranks, less a penalty for each change, which is
    larger if there are few queries.

    A signal that is the same for all memories keeps its weight, since the queries say nothing about
    it. Half-lives by type or tier do not change, nor does a decay. `arguments=False` proposes a
    profile alone.

    `Tuning.proposed` is None unless nDCG@k rises. If similarity alone, keyword alone or hybrid is
    clearly better than what was found, that is proposed. `verdict` and `summary` say how good the
    evidence is.

    With `precision`, some queries have no answer, and `Tuning.floor` is the proposed
    `min_relevance`: the one that makes most of them return nothing, while at least this share of
    all queries that return nothing have no answer.

    `start` is by default the profile of a search that names none. `agents`, `dates` and `timezone`
    are those of `evaluate`, and so is `rerank`: it judges in the evaluation, not while candidates
    are chosen, and `lend` is then not tried. The same `seed` gives the same result.
    `on_progress(done, of)` is called between steps and must be a plain function.

    Raises InputError and its children.
    """
    require_aware("as_of", as_of)
    named = prepared(tables, queries, agent_id, agents, teams, dates, timezone, as_of)
    if precision is not None:
        precision = require_precision(precision)
    _require_enough(answered(named))
    start_profile = None if start is None else checked_profile(start)
    k = K("k", k)
    folds = require_count("folds", folds, at_least=2, at_most=MAX_FOLDS)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    may_argue = require_bool("arguments", arguments)
    reporting = Reporting("tune", on_progress)
    reranker = yield from reranker_of(rerank, named)
    chosen = Filters.of(filters)
    named = yield from with_vectors(named)
    _require_enough(answered(named), different=True)
    folded = folds_of(named, folds, seed)
    if precision is not None:
        _require_unanswered(named, folded)
    profile = start_profile or (yield from default_profile(tables))
    chosen = yield from narrowing(tables, chosen)
    context = Asked(tables, teams, chosen, as_of, rerank=reranker)
    work = _Work(context, named, folded, profile, k, seed, may_argue, reporting)
    return (yield from work.tuning(precision))


@dataclass(frozen=True)
class _Work:
    """The arguments of a call of `tune`."""

    context: Asked
    named: Sequence[CheckedQuery]
    """All queries."""
    folded: Sequence[int]
    """The fold of each query."""
    start: Profile
    k: int
    seed: int
    may_argue: bool
    reporting: Reporting

    def tuning(self, precision: float | None) -> Operation[Tuning]:
        judged = [number for number, query in enumerate(self.named) if query.relevant]
        checked = [self.named[number] for number in judged]
        folded = [self.folded[number] for number in judged]
        different = list(dict.fromkeys(folded))
        self.reporting.of = len(different) + 3
        problem = yield from self._problem(checked)
        self.reporting.add()
        everything = range(len(checked))
        found = yield Ask("compute", (partial(problem.solved, everything, self.seed),))
        self.reporting.add()
        ranking: list[Ranks] = [{} for _ in checked]
        failed = 0
        for fold in different:
            training = [n for n in everything if folded[n] != fold]
            solution = yield Ask("compute", (partial(problem.solved, training, self.seed),))
            others = [n for n in everything if folded[n] == fold]
            known, stood = yield from self._ranks(solution, checked, others)
            failed += stood
            for number, its in known.items():
                ranking[number] = its
            self.reporting.add()
        held_out, rivals, moved = yield from self._judged(checked, found, ranking, failed)
        floor = None
        if precision is not None:
            floor = yield from self._floor(found, precision)
        self.reporting.add()
        questions = len(set(map(question_key, checked)))
        return Tuning(
            start=self.start,
            found=found.profile,
            found_arguments=found.arguments,
            held_out=held_out,
            rivals=rivals,
            moved=moved,
            questions=questions,
            precision=precision,
            floor=floor,
        )

    def _problem(self, checked: Sequence[CheckedQuery]) -> Operation[Problem]:
        """The pairs, and what may change."""
        layout: Layout = yield Ask("layout")
        searched = with_added(self.start)
        is_plain = self.context.rerank is None and not layout.distributed
        lends = self.may_argue and is_plain
        pairs = yield from drawn(self.context, checked, searched, lends=lends)
        return Problem(self.start, searched, pairs)

    def _ranks(
        self, solution: Solution, checked: Sequence[CheckedQuery], places: Sequence[int]
    ) -> Operation[tuple[dict[int, Ranks], int]]:
        """The ranks of the queries at these places, exactly as a search ranks; and for how many of
        them a reranker failed."""
        asked = [checked[place] for place in places]
        batches = yield from self.context.batches(asked, [solution.profile])
        ranking = yield from ranks(self.context.tables, batches, solution.lending, self.k)
        failed = yield from self._reranked(batches, asked, ranking)
        return {place: ranking[number][0] for number, place in enumerate(places)}, failed

    def _reranked(
        self,
        batches: Sequence[Batch],
        checked: Sequence[CheckedQuery],
        ranking: Mapping[int, list[Ranks]],
    ) -> Operation[int]:
        """Changes the ranks by the first profile, if there is a reranker, and counts for how many
        queries the order by score stands."""
        tables, rerank = self.context.tables, self.context.rerank
        if rerank is None:
            return 0
        return (yield from rerank_ranks(tables, batches, rerank, checked, 1, ranking))

    def _judged(
        self,
        checked: Sequence[CheckedQuery],
        found: Solution,
        ranking: Sequence[Ranks],
        failed: int,
    ) -> Operation[tuple[Evaluation, Mapping[str, Difference], list[MovedQuery]]]:
        """The evaluation of what was found beside its start, the difference of each baseline to
        it, and the queries whose answer moved."""
        beside = baselines((self.start, found.profile), checked)
        batches = yield from self.context.batches(checked, (self.start, *beside))
        known = yield from ranks(self.context.tables, batches)
        failed += yield from self._reranked(batches, checked, known)
        of_start, *of_baselines = zip(*(known[n] for n in range(len(checked))), strict=True)
        by_profile = [of_start, ranking, *of_baselines]
        per_query = [
            [metrics(query.relevant, its, self.k) for query, its in zip(checked, one, strict=True)]
            for one in by_profile
        ]
        missing = yield from count_missing(self.context, checked)
        profiles = [self.start, found.profile]
        if self.context.rerank is not None:
            profiles = [profile.renamed(f"{profile.name}_reranked") for profile in profiles]
        evaluation = evaluation_of(
            checked, profiles, (*profiles, *beside), per_query, self.k, self.seed, missing
        )
        if self.context.rerank is not None:
            evaluation = replace(evaluation, not_reranked=failed)
        values = [{name: [one[name] for one in its] for name in METRICS} for its in per_query[1:]]
        owners = [query.agent_id for query in checked]
        scores = scores_of(values, range(len(checked)), owners, self.seed)[1:]
        rivals = {
            one.name: its.differences["ndcg"] for one, its in zip(beside, scores, strict=True)
        }
        prefix = self.context.tables.prefix
        return evaluation, rivals, _moved(checked, by_profile, per_query, prefix)

    def _floor(self, found: Solution, precision: float) -> Operation[Floor | None]:
        reaches = yield from reached(self.context, self.named, found.profile, self.k)
        return cross_validated(reaches, self.folded, precision)


def _moved(
    checked: Sequence[CheckedQuery],
    ranking: Sequence[Sequence[Ranks]],
    per_query: Sequence[Sequence[Mapping[str, float]]],
    prefix: str,
) -> list[MovedQuery]:
    """The queries whose nDCG changed, those that rise most first."""
    moved = [
        MovedQuery(
            number,
            query.query if isinstance(query.query, str) else query.query_text,
            (query.agent_id or "").removeprefix(prefix),
            min(ranking[0][number].values(), default=None),
            min(ranking[1][number].values(), default=None),
            per_query[1][number]["ndcg"] - per_query[0][number]["ndcg"],
        )
        for number, query in enumerate(checked)
    ]
    return sorted((one for one in moved if one.gain), key=lambda one: -one.gain)


def _require_unanswered(named: Sequence[CheckedQuery], folded: Sequence[int]) -> None:
    """Raises InputError unless each fold leaves queries of both kinds to choose a floor by."""
    for has_answer in (True, False):
        numbers = [n for n, query in enumerate(named) if bool(query.relevant) is has_answer]
        if len({folded[number] for number in numbers}) < 2:
            raise InputError(
                "precision needs queries with and without an answer in two folds or more, got "
                f"{len(numbers)} {'with' if has_answer else 'without'} one; judge more of them"
            )


def _require_enough(checked: Sequence[CheckedQuery], *, different: bool = False) -> None:
    number = len(set(map(question_key, checked))) if different else len(checked)
    if number < FEWEST_QUERIES:
        ones = "" if number == len(checked) else f" different ones among {len(checked)}"
        raise InputError(
            f"tuning needs at least {FEWEST_QUERIES} judged queries, got {number}{ones}"
        )
