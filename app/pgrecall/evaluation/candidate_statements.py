"""The statements of tuning, which evaluate many candidates on the same pairs of query and memory.

A candidate consists of weights and a half-life. The pairs are written to a temporary table once,
with the values of all signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.evaluation.batches import Batch, Values
from pgrecall.evaluation.ranks import ideal
from pgrecall.evaluation.weight_search import Candidate
from pgrecall.ranking.composing import composed
from pgrecall.schema import Tables
from pgrecall.scoring import expression
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Curve, Keyword, Recency, Signal, rate_of


def recency_of(profile: Profile) -> Recency | None:
    """The signal whose half-life can be tuned, if any."""
    recency = profile.find(Recency)
    by_row = recency and (recency.half_lives_by_type or recency.half_lives_by_tier)
    return None if by_row else recency


_DECAY = "its_decay"
PAIRS = "pg_temp.pgrecall_pairs"
DROP_PAIRS = Run(Statement(f"DROP TABLE IF EXISTS {PAIRS}"))


@lru_cache(maxsize=64)
def create_pairs(profile: Profile) -> Statement:
    """Creates the temporary table of pairs.

    clock is the timestamp that recency counts from, asked_at the moment of the query.
    """
    names = [*map(_column, profile.signals), *([] if profile.decay is None else [_DECAY])]
    signals = "".join(f", {name} float8" for name in names)
    return Statement(
        f"CREATE TEMPORARY TABLE {PAIRS} (number integer NOT NULL, id uuid NOT NULL, "
        f"gain float8 NOT NULL, clock timestamptz, asked_at timestamptz{signals})"
    )


def _column(signal: Signal) -> str:
    return f"its_{signal.name}"


def draw(tables: Tables, batch: Batch, profile: Profile, most: int) -> Run:
    """Adds the relevant memories of each query and others to the pairs, about `most` a query."""
    recency = recency_of(profile)

    def places(values: Values, batch: Batch) -> Mapping[str, str]:
        its = {_column(signal): values.signal(signal) for signal in profile.signals}
        total = " + ".join(its.values())
        if profile.decay is not None:
            its[_DECAY] = values.known(expression.factor(profile.decay))
            total = expression.decayed(total, its[_DECAY])
        columns = {
            **its,
            "start": batch.score(values, 0, batch.profiles[0]),
            "nearness": "compared.similarity",
            "words": its.get(f"its_{Keyword.name}", "compared.similarity"),
            "total": total,
            "clock": "NULL::timestamptz"
            if recency is None
            else values.known(expression.CLOCKS[recency.clock]),
        }
        return {
            "scores": ", ".join(f"{text} AS {name}" for name, text in columns.items()),
            "drawn": ", ".join(f"placed.{name}" for name in its),
        }

    by_words = profile.find(Keyword) is not None
    return batch.run(tables, "draw", places, most=most, part=6 if by_words else 4)


@lru_cache(maxsize=64)
def spread_statement(tables: Tables, profile: Profile) -> Statement:
    """Tells of each signal, in order, if it differs between the memories of some query."""
    recency = recency_of(profile)
    varies, of_some = [], []
    for signal in profile.signals:
        name = _column(signal)
        value = "pairs.clock" if signal == recency else f"pairs.{name}"
        varies.append(
            f"pg_catalog.min({value}) < pg_catalog.max({value}) "
            f"OR pg_catalog.count({value}) BETWEEN 1 AND pg_catalog.count(*) - 1 AS {name}"
        )
        of_some.append(f"bool_or(varying.{name}) AS {name}")
    return _composed(tables, "spread", varies=varies, varies_of_some=of_some)


def worth(
    tables: Tables,
    profile: Profile,
    relevant: Mapping[int, Mapping[Any, float]],
    tried: Sequence[Candidate],
) -> Run:
    """The number of each candidate and its `worth`, the mean nDCG over all ranks of the pairs.

    `relevant` has the gains of each query by its number.
    """
    recency = recency_of(profile)
    parameters: dict[str, Any] = {
        "candidates": list(range(len(tried))),
        "speeds": [None if recency is None else _speed(recency, one) for one in tried],
        "query_numbers": list(relevant),
        "ideals": [ideal(gains) for gains in relevant.values()],
    }
    for place in range(len(profile.signals)):
        parameters[f"weights_{place}"] = [one.weights[place] for one in tried]
    return Run(_worth_statement(tables, profile), parameters)


@lru_cache(maxsize=64)
def _worth_statement(tables: Tables, profile: Profile) -> Statement:
    recency = recency_of(profile)
    score = []
    for place, signal in enumerate(profile.signals):
        value = f"pairs.{_column(signal)}"
        if recency is not None and signal == recency:
            unknown = expression.number(recency.unknown)
            value = (
                f"pgrecall.recency_{recency.curve}"
                f"(pairs.clock, pairs.asked_at, candidates.speed, {unknown})"
            )
        score.append(f"candidates.weight_{place} * {value}")
    total = " + ".join(score)
    if profile.decay is not None:
        total = expression.decayed(total, f"pairs.{_DECAY}")
    places = range(len(profile.signals))
    return _composed(
        tables,
        "worth",
        weights=[f":weights_{place}::float8[]" for place in places],
        weight_names=[f"weight_{place}" for place in places],
        candidate_score=[total],
    )


def _composed(tables: Tables, name: str, **places: Sequence[str]) -> Statement:
    texts = tuple((place, ", ".join(several)) for place, several in places.items())
    return composed(tables, name, frozenset(), (), (), texts)


def _speed(recency: Recency, candidate: Candidate) -> float:
    """The candidate's rate or half-life, as the curve takes it."""
    assert candidate.half_life is not None
    if recency.curve is Curve.EXPONENTIAL:
        return rate_of(candidate.half_life)
    return candidate.half_life
