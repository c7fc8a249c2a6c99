"""Parameters that tuning tries, and the table of what it changed."""

from __future__ import annotations

from dataclasses import replace

from pgrecall import Profile, profiles
from pgrecall.evaluation.tunable import ADDED, TUNABLE, bundles, changes, variants, with_added
from pgrecall.scoring.signals import (
    KINDS,
    Clock,
    Frequency,
    Keyword,
    Recency,
    Similarity,
    Taste,
    Usefulness,
)


def test_a_signal_is_tried_with_one_parameter_changed() -> None:
    tried = variants(Keyword(b=0.4))

    assert tried[0] == Keyword(b=0.4)
    assert set(tried) == {
        *(Keyword(b=b) for b in (0.0, 0.4, 0.8)),
        *(Keyword(b=0.4, pivot=pivot) for pivot in (200, 400, 1000)),
    }
    assert len(tried) == len(set(tried))
    assert variants(Usefulness()) == [Usefulness()]


def test_a_rate_becomes_a_half_life_and_several_half_lives_stay() -> None:
    by_tier = Recency(half_life=90, half_lives_by_tier=(("short", 5.0),))

    assert Recency(half_life=8.0) in variants(Recency(rate=0.05))
    assert {one.half_life for one in variants(by_tier) if isinstance(one, Recency)} == {90}
    assert {one.clock for one in variants(by_tier) if isinstance(one, Recency)} == {*Clock}


def test_every_variant_is_in_some_bundle_and_the_first_is_the_profile() -> None:
    profile = with_added(profiles.tiered)

    several = bundles(profile)

    assert several[0] == profile
    for signal in profile.signals:
        its = {one for each in several for one in each.signals if one.name == signal.name}
        assert its == {*variants(signal)}


def test_every_signal_may_be_added_but_that_which_searches_count() -> None:
    assert {one.name for one in ADDED} == {*KINDS} - {Frequency.name, Taste.name}
    assert {*TUNABLE} <= {*KINDS}
    added = with_added(Profile("one", {Frequency(): 1.0}))
    assert [*added.signals] == [Frequency(), *ADDED]
    assert added.weights == {"frequency": 1.0} | {one.name: 0.0 for one in ADDED}


def test_what_changed_is_told_by_weight_parameter_and_argument() -> None:
    start = Profile("start", {Similarity(): 0.5, Recency(rate=0.05): 0.5})
    found = Profile(
        "found",
        {Similarity(): 0.5, Recency(half_life=64.0): 0.25, Keyword(): 0.25},
        min_relevance=0.2,
    )

    assert changes(start, found, {"dates": "auto"}) == [
        ("recency", "0.5", "0.25"),
        ("recency.half_life", "13.9", "64"),
        ("keyword", "–", "0.25"),
        ("min_relevance", "–", "0.2"),
        ("dates", "–", "auto"),
    ]
    assert changes(start, start.renamed("x"), {}) == []
    same = replace(start, signals={Similarity(): 0.5, Recency(half_life=13.862943611198906): 0.5})
    assert changes(start, same, {}) == []
