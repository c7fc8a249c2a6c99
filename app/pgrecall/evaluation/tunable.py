"""The parameters of signals and the arguments of a search that tuning may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    EntityOverlap,
    Importance,
    Keyword,
    Recency,
    Signal,
    Similarity,
    Time,
    Trust,
    Usefulness,
)

TUNABLE: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "similarity": {"shift": (0.0, 0.3, 0.6, 0.9)},
    "recency": {
        "half_life": (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
        "clock": tuple(Clock),
    },
    "keyword": {"b": (0.0, 0.4, 0.8), "pivot": (200.0, 400.0, 1000.0)},
    "entity_overlap": {"subject": (False, True)},
    "trust": {"decay": (False, True)},
    "frequency": {"cap": (5.0, 20.0, 50.0, 200.0)},
}
"""Signal → parameter → the values that are tried. A new parameter is a line here; one that the
signal's class does not have is not tried."""

ADDED: tuple[Signal, ...] = (
    *(Similarity(), Keyword(), Time(), EntityOverlap(subject=True), Recency(half_life=32.0)),
    *(Importance(), Usefulness(), Confidence(), Trust()),
)
"""Signals that a profile may gain. Frequency and taste are none of them: searches count themselves,
and outcomes follow searches, so they would learn what the profile before found."""


class Lending(NamedTuple):
    """The two arguments of a search by which turns are ranked beside their hits."""

    expand_session: int
    lend: float


LENDING = tuple(Lending(*pair) for pair in ((1, 0.3), (2, 0.15), (2, 0.3), (3, 0.3)))
"""The values that are tried."""


def variants(signal: Signal) -> list[Signal]:
    """The signal, and those that differ from it in one parameter."""
    its = {one.name for one in fields(signal)}
    tried = (
        _with(signal, parameter, value)
        for parameter, values in TUNABLE.get(signal.name, {}).items()
        if parameter in its
        for value in values
    )
    return list(dict.fromkeys([signal, *tried]))


def _with(signal: Signal, parameter: str, value: Any) -> Signal:
    if not isinstance(signal, Recency) or parameter != "half_life":
        return replace(signal, **{parameter: value})
    if signal.half_lives_by_type or signal.half_lives_by_tier:
        return signal  # one half-life cannot say what several do
    return replace(signal, rate=None, half_life=value)


def with_added(profile: Profile) -> Profile:
    """The profile with the signals that it does not have, each with the weight 0."""
    added = {signal: 0.0 for signal in ADDED if signal.name not in profile.weights}
    return replace(profile, signals={**profile.signals, **added})


def bundles(profile: Profile) -> list[Profile]:
    """Profiles that together have every variant of its signals."""
    of_each = [variants(signal) for signal in profile.signals]
    names = range(max(map(len, of_each)))
    weights = list(profile.signals.values())
    return [
        replace(
            profile,
            signals={
                several[min(number, len(several) - 1)]: weight
                for several, weight in zip(of_each, weights, strict=True)
            },
        )
        for number in names
    ]


class Change(NamedTuple):
    """A parameter that tuning changed."""

    parameter: str
    """A weight as "keyword", a parameter as "keyword.b", an argument of a search by its name."""
    before: str
    after: str


def changes(start: Profile, found: Profile, arguments: Mapping[str, Any]) -> list[Change]:
    """The differences between two profiles, and the arguments that come with the second."""
    before = {signal.name: signal for signal in start.signals}
    after = {signal.name: signal for signal in found.signals}
    pairs: list[tuple[str, object, object]] = []
    for name in before | after:
        pairs.append((name, start.weights.get(name), found.weights.get(name)))
        if name in before and name in after:
            old, new = _in_days(before[name]), _in_days(after[name])
            names = (one.name for one in fields(new))
            pairs += ((f"{name}.{its}", getattr(old, its), getattr(new, its)) for its in names)
    pairs.append(("min_relevance", start.min_relevance, found.min_relevance))
    pairs += ((name, None, value) for name, value in arguments.items())
    shown = (Change(name, _shown(old), _shown(new)) for name, old, new in pairs)
    return [one for one in shown if one.before != one.after]


def _in_days(signal: Signal) -> Signal:
    """The signal, with a half-life in place of a rate."""
    if isinstance(signal, Recency) and signal.rate is not None:
        return replace(signal, rate=None, half_life=signal.half_life_in_days)
    return signal


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
