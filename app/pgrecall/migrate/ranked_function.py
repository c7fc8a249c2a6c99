"""Generates the SQL functions that rank by every profile of a database: sql/recall/ranked.sql."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, case, literal_column

from pgrecall.core.quoting import shortened
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InvalidProfile
from pgrecall.rank_index import space
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.scoring.score import (
    Matched,
    call,
    factor,
    literal_weight,
    number,
    quoted,
    score_expression,
    signal_expression,
    speed_of,
    sum_of,
    weights_in_use,
)
from pgrecall.scoring.signals import (
    DECAY,
    Curve,
    EntityOverlap,
    Recency,
    Signal,
    Similarity,
    rate_of,
    requires_embedding,
)
from pgrecall.search.matched import compiled, relation

PATHS = (
    *("recall/profile_facts.sql", "recall/ranked.sql", "recall/ranked_on_nodes.sql"),
    "recall/recall.sql",
)
"""The files that depend on the profiles."""
_PROFILE = "coalesce(ranked.profile, default_profile())"
_TYPES = {
    **dict.fromkeys(("valid", "existed"), "boolean"),
    **dict.fromkeys(("has_query", "has_terms", "has_names", "has_period"), "boolean"),
    **dict.fromkeys(("retrieval_count", "success_count", "failure_count"), "integer"),
    **dict.fromkeys(("feedback_up", "feedback_down"), "integer"),
    **dict.fromkeys(("last_accessed_at", "moment"), "timestamptz"),
}
"""The types of the columns that sql/matched.sql computes; others are float8."""
_WORDS = "keyword_shares(matched.agents, matched.keywords, matched.agents, matched.as_of)"
_FACTS = """(SELECT DISTINCT ON (agent_id) *
          FROM query_facts(matched.agents, matched.query, matched.keywords, matched.keywords,
                           matched.given_entities, NULL, matched.centering, matched.subjects,
                           matched.as_of))"""
_ARGUMENTS = (
    *("agent_id", "query", "keywords", "profile", "weights", "half_life", "entities", "period"),
    *("teams", "as_of", "include_inactive"),
)
_MATCHED_ARGUMENTS = (
    *("agents", "query", "keywords", "given_entities", "period_from", "period_to", "as_of"),
    *("centering", "subjects"),
)
_FILLED = {
    ":moment": "coalesce(matched.as_of, now())",
    ":has_query": "(matched.query IS NOT NULL)",
    ":named_subject": "CASE WHEN matched.subjects THEN m.subject END",
    ":memories": "(SELECT * FROM agent_memories WHERE agent_id = ANY (matched.agents))",
    ":usage": "(SELECT * FROM memory_usage WHERE agent_id = ANY (matched.agents))",
    "w.share": f"""((SELECT jsonb_object_agg(agent_id || memory_id, share)
                      FROM {_WORDS})
                   ->> (m.agent_id || m.id))::float8""",
    "w.coverage": f"""((SELECT jsonb_object_agg(agent_id, coverage)
                      FROM {_WORDS})
                   ->> m.agent_id)::float8""",
    ":query_facts": _FACTS,
}
"""What stands in psql in the places of sql/matched.sql that are no arguments."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The columns of rows with this name."""

    name: str
    schema: str = "@"

    @property
    def c(self) -> _Rows:
        return self

    def __getitem__(self, name: str) -> ColumnElement[Any]:
        return literal_column(f"{self.name}.{name}")

    def __getattr__(self, name: str) -> ColumnElement[Any]:
        return self[name]


_M, _S = _Rows("m"), _Rows("s")


def require_function_name(profile: Profile) -> str:
    """The name of a profile that may be installed; else raises InvalidProfile."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", profile.name):
        raise InvalidProfile(
            f"the name of a profile to install must have at most 51 lower-case letters, digits and "
            f"_, and start with a letter; got {shortened(profile.name)}"
        )
    return profile.name


def with_profiles(text: str, installed: Iterable[Profile] = ()) -> str:
    """The text of such a file, for the built-in profiles and these."""
    known = (*BUILT_IN.values(), *installed)
    profiles = [_with_half_life(profile) for profile in known]
    signals = dict.fromkeys(one.name for profile in profiles for one in profile.signals)
    if any(profile.decay for profile in profiles):
        signals[DECAY] = None
    places = {
        "@signal_columns@": _lines(f"NULL::float8 AS signal_{name}" for name in signals),
        "@signal_names@": _lines((f"signal_{name}" for name in signals), 15),
        "@matched_columns@": _lines(
            (f"{name} {_TYPES.get(name, 'float8')}" for name in relation().columns), 4
        ),
        "@matched@": _matched(),
        "@score@": _chosen(profiles, _score),
        "@signals@": _lines(
            (f"{_chosen(profiles, partial(_signal, name))} AS signal_{name}" for name in signals),
            15,
        ),
        "@signals_of_rows@": _lines(f"s.signal_{name}" for name in signals),
        "@centering@": _chosen(profiles, _centering, "0"),
        "@subjects@": _chosen(profiles, _counts_subjects, "false"),
        "@subjects_asked@": _chosen(profiles, _counts_subjects, "false").replace("ranked.", ""),
        "@requires_embedding@": _chosen(profiles, _requires_embedding, "false"),
        "@facts@": ",\n ".join(map(_facts, known)).join(("{", "}")),
    }

    def filled(text: str) -> str:
        for place, written in places.items():
            text = text.replace(place, written)
        return text

    def number(match: re.Match[str]) -> str:
        return f"${_ARGUMENTS.index(match[1]) + 1}"

    if "@text@" in text:
        text = text.replace("@text@", re.sub(r"ranked\.(\w+)", number, filled(_on_one_node())))
    return filled(text)


def readable(profile: Profile) -> str:
    """The score as SQL over the columns of `matched`, with literal weights."""
    return _sql(score_expression(profile, _M, weight=literal_weight))


def _matched() -> str:
    text = (sql_folder() / "matched.sql").read_text(encoding="utf-8")
    text = text[text.index("SELECT") :].rstrip().replace("m.*", "@table: m.{}@")
    text = re.sub(r"\n *LEFT JOIN :words .*", "", text)
    for place, filled in _FILLED.items():
        text = re.sub(rf"{re.escape(place)}\b", filled, text)
    return re.sub(r"(?<!:):([a-z]\w*)", r"matched.\1", text).replace("pgrecall.", "")


def _on_one_node() -> str:
    """What `ranked` selects for one of its agents, with parameters for EXECUTE: its arguments, the
    agent, all agents, and the entities and the number of names that the query has."""
    text = (sql_folder() / "recall" / "ranked.sql").read_text(encoding="utf-8")
    selected = text.partition("FUNCTION ranked(")[2].partition("BEGIN ATOMIC\n")[2]
    selected = selected.partition(";\nEND;")[0]
    [called] = re.findall(r"matched\((.*)\) m\n", selected, re.DOTALL)
    arguments = [one.strip() for one in re.split(r",(?![^(]*\))", called)]
    given = dict(zip(_MATCHED_ARGUMENTS, arguments, strict=True)) | {"agents": "$13"}
    matched = re.sub(r"agent_id = ANY \(matched\.agents\)", "agent_id = $12", _matched())
    matched = matched.replace("query_facts(matched.agents", "query_facts(ARRAY[$12]")
    matched = matched.replace("keyword_shares(matched.agents", "keyword_shares(ARRAY[$12]")
    matched = matched.replace("matched.given_entities, NULL", "$14, $15")
    matched = re.sub(r"matched\.(\w+)", lambda match: given[match[1]], matched)
    selected = selected.replace(f"matched({called}) m\n", f"(\n{matched}) m\n")
    return re.sub(r"require_search\([^)]*\)", "true", selected)


def _chosen(
    profiles: Sequence[Profile], written: Callable[[Profile], str | None], rest: str = "NULL"
) -> str:
    """What is written for the profile that is asked for."""
    texts = {profile.name: written(profile) for profile in profiles}
    arms = [
        f"\n            WHEN '{name}' THEN {text}"
        for name, text in texts.items()
        if text not in (None, rest)
    ]
    return f"CASE {_PROFILE}{''.join(arms)}\n            ELSE {rest} END" if arms else rest


def _score(profile: Profile) -> str:
    """The score as `score_expression` has it, over the signals as columns of the subquery s."""
    weighed = [(signal, _weight(signal, its)) for signal, its in profile]
    values = {signal: _S[f"signal_{signal.name}"] for signal in profile.signals}
    if profile.redistribute:
        for signal in profile.signals:
            if isinstance(signal, Similarity) and signal.missing:  # its weight goes to others
                values[signal] = case((_S["has_query"], values[signal]), else_=number(0))
    total = sum_of(weight * values[signal] for signal, weight in weighed)
    if profile.redistribute:
        total = total / weights_in_use(weighed, _S)
    if profile.decay is not None:
        total = call(_S, "decayed", total, _S[f"signal_{DECAY}"])
    return _sql(total)


def _weight(signal: Signal, value: float) -> ColumnElement[float]:
    """The weight of a signal by the argument `weights`, or else by the profile."""
    return literal_column(f"_weight(ranked.weights, {quoted(signal.name)}, {value!r})")


def _signal(name: str, profile: Profile) -> str | None:
    """The value of a signal, or of the decay; None if the profile does not have it."""
    if name == DECAY:
        return None if profile.decay is None else _sql(factor(profile.decay, _M))
    signals = {one.name: one for one in profile.signals}
    return _sql(signal_expression(signals[name], _M)) if name in signals else None


def _sql(expression: ColumnElement[float]) -> str:
    """The text of an expression. Names are looked up when the function is created."""
    return compiled(expression).replace(f'"{_M.schema}".', "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked(Recency):
    """A recency whose half-life the argument `half_life` may set."""


@signal_expression.register
def _(signal: _Asked, m: Matched) -> ColumnElement[float]:
    of_profile = Recency(**{one.name: getattr(signal, one.name) for one in fields(signal)})
    speed = compiled(speed_of(of_profile, m))
    asked = "ranked.half_life"
    if signal.curve is Curve.EXPONENTIAL:
        asked = f"{rate_of(1)!r} / {asked}"
    return literal_column(
        compiled(signal_expression(of_profile, m)).replace(
            f"m.moment, {speed}, ", f"m.moment, coalesce({asked}, {speed}), "
        )
    )


def _with_half_life(profile: Profile) -> Profile:
    """The profile with the recency that `Profile.with_half_life` changes as the function has it."""

    def asked(recency: Recency) -> _Asked:
        return _Asked(**{one.name: getattr(recency, one.name) for one in fields(recency)})

    if profile.find(Recency) is not None:
        signals = {asked(one) if isinstance(one, Recency) else one: its for one, its in profile}
        return replace(profile, signals=signals)
    if profile.decay is not None:
        return replace(profile, decay=replace(profile.decay, recency=asked(profile.decay.recency)))
    return profile


def _centering(profile: Profile) -> str:
    return f"{max((s.shift for s in profile.signals if isinstance(s, Similarity)), default=0.0)!r}"


def _counts_subjects(profile: Profile) -> str:
    counts = any(one.subject for one in profile.signals if isinstance(one, EntityOverlap))
    return str(counts).lower()


def _requires_embedding(profile: Profile) -> str:
    return str(requires_embedding(profile.signals)).lower()


def _facts(profile: Profile) -> str:
    """What functions need to know: recall, and the calibration of rank indexes."""
    return f'"{profile.name}": ' + json.dumps(
        {
            "name": profile.name,
            "signals": [
                {
                    "name": signal.name,
                    "weight": weight,
                    "terms": [term.values for term in space.terms(signal) if term.share],
                }
                for signal, weight in profile
            ],
            "axes": len(space.AXES),
            "accessed_by": profile.accessed_by,
            "has_half_life": profile.decay is not None or profile.find(Recency) is not None,
            "requires_embedding": requires_embedding(profile.signals),
        }
    )


def _lines(items: Iterable[str], indent: int = 7) -> str:
    return f",\n{' ' * indent}".join(items)
