"""Profiles, and scoring values at hand: several, times as text, other systems' names, bands."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from math import exp, fsum
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Attribute, Decay, Profile, bands, profiles, score, score_all
from pgrecall.errors import InputError, InvalidProfile, UnknownName
from pgrecall.migrate.ranked_function import readable
from pgrecall.scoring.signals import (
    KINDS,
    Clock,
    Confidence,
    Curve,
    Frequency,
    Recency,
    Signal,
    Similarity,
    Usefulness,
)

NAN, INF = float("nan"), float("inf")
HALVES = {Similarity(): 0.5, Confidence(): 0.5}


def test_weights_that_do_not_sum_to_one_fail_where_the_profile_is_made() -> None:
    """But for a rounding error."""
    for weights in ([0.5, 0.5, 0.01], [0.5, 0.5, 0.5], [0.0] * 3):
        signals = [Similarity(), Recency(rate=0.05), Usefulness()]
        with pytest.raises(InvalidProfile, match=r"'mine'.*sum to 1.*they sum to"):
            Profile("mine", dict(zip(signals, weights, strict=True)))
    assert 0.7 + 0.2 + 0.1 != 1
    rounded = Profile("mine", {Similarity(): 0.7, Recency(rate=1): 0.2, Usefulness(): 0.1})
    assert rounded.weights["similarity"] == 0.7


def test_what_cannot_be_a_profile_is_refused() -> None:
    for weight in (-0.5, 1.5, NAN, INF, 1e-13):
        rest = 1 - weight if 0 < weight < 1 else 0.5
        with pytest.raises(InvalidProfile, match=f"'mine'.*confidence.*got {weight}"):
            Profile("mine", {Similarity(): rest, Confidence(): weight})
    weights: list[Any] = [True, "0.5", None, 0.5j]
    for weight in weights:
        with pytest.raises(InvalidProfile, match="confidence must be a number"):
            Profile("mine", {Similarity(): 0.5, Confidence(): weight})
    with pytest.raises(InvalidProfile, match="name"):
        Profile(" ", HALVES)
    with pytest.raises(InvalidProfile, match=r"twice.*similarity, similarity"):
        Profile("mine", {Similarity(missing=0): 0.5, Similarity(missing=1): 0.5})
    clocks: list[Any] = ["search", None, True, []]
    for accessed_by in clocks:
        with pytest.raises(InvalidProfile, match=r"'mine'.*must be retrieval or use, got"):
            Profile("mine", dict(HALVES), accessed_by=accessed_by)


def test_a_profile_is_a_value_that_cannot_be_changed() -> None:
    given = dict(HALVES)
    one, other = Profile("mine", given), Profile("mine", dict(HALVES))

    assert one == other
    assert hash(one) == hash(other)
    assert one != Profile("yours", dict(HALVES))
    assert one != Profile("mine", dict(HALVES), accessed_by="use")
    for profile in profiles.BUILT_IN.values():
        assert pickle.loads(pickle.dumps(profile)) == profile
    given[Similarity()] = 1.0
    assert one.weights["similarity"] == 0.5
    with pytest.raises(TypeError):
        one.signals[Similarity()] = 1.0  # type: ignore[index]
    derived = profiles.trust.with_weights(trust=0.5, similarity=0.5).renamed("mine")
    assert derived.accessed_by == "use"
    assert {p.name for p in profiles.BUILT_IN.values() if p.accessed_by == "use"} == {
        "trust",
        "trust_stored",
    }


def test_with_weights_leaves_the_rest_at_zero_and_a_profile_is_found_by_name() -> None:
    changed = profiles.five_factor.with_weights(similarity=0.75, recency=0.25)

    rest = dict.fromkeys(("usefulness", "confidence", "frequency"), 0)
    assert changed.weights == {"similarity": 0.75, "recency": 0.25} | rest
    assert profiles.five_factor.weights["similarity"] == 0.40
    with pytest.raises(UnknownName, match=r"charm.*similarity, recency, usefulness"):
        profiles.five_factor.with_weights(charm=1)
    assert profiles.named("five_factor") is profiles.five_factor
    with pytest.raises(UnknownName, match=r"'six_factor'.*five_factor"):
        profiles.named("six_factor")


BAD: tuple[tuple[type[Signal], dict[str, Any], str], ...] = (
    (Recency, {}, r"either rate .* or half_life"),
    (Recency, {"rate": 0.05, "half_life": 14}, r"either rate .* or half_life"),
    *((Recency, {"half_life": bad}, "recency") for bad in (0, -1, NAN, 1e-300)),
    *((Recency, {"rate": bad}, r"recency: the rate.*got") for bad in (-0.05, NAN, INF, 1e10)),
    *(
        (Recency, {"rate": 0.05, "clock": bad}, "created_at, last_accessed_at, latest")
        for bad in ("updated_at", "", None)
    ),
    (Recency, {"rate": 0.05, "curve": "linear"}, "needs half_life, not rate"),
    *((Frequency, {"cap": bad}, "frequency: cap") for bad in (0, 0.5, -1, NAN, INF, 1e10)),
    *((Similarity, {"missing": bad}, "similarity: missing") for bad in (-0.1, 1.1, NAN, INF)),
    *((Recency, {"rate": 1, "unknown": bad}, "recency: unknown") for bad in (-0.1, 1.1, NAN, INF)),
    *(
        (Attribute, {"name": bad, "metadata": "a"}, "the name of an attribute")
        for bad in ("", "Views", "1st", "a" * 41, "a b", 7, None)
    ),
    (Attribute, {"name": "trust", "metadata": "a"}, "trust is a built-in signal"),
    *(
        (Attribute, {"name": "own", "metadata": bad}, "own: (metadata must be|a path may have)")
        for bad in ("", 7, "\0", "a." * 40, "a" * 10_001)
    ),
    *(
        (
            Attribute,
            {"name": "own", "metadata": "a", "most": bad},
            "own: (most must be|least must be)",
        )
        for bad in (NAN, INF, 1e19, 1e-101, 0, -1, "1", True)
    ),
)


def test_a_parameter_that_cannot_be_is_refused() -> None:
    for kind, arguments, message in BAD:
        with pytest.raises(InvalidProfile, match=message):
            kind(**arguments)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind is not Recency])
def test_a_signal_is_known_everywhere_and_says_what_it_reads(kind: type[Signal]) -> None:
    signal = kind()
    profile = Profile("mine", {signal: 1})

    written = readable(profile)

    usage = "last_accessed_at" in written or "retrieval_count" in written
    assert usage is signal.reads_usage
    assert 0 <= score(profile, {}).score <= 1


ODD = "an \"odd\" 'name' = [1.5], # \\ \t \n \r \x01 \x7f é 🍵"
EVERY_PARAMETER = Profile(
    f"every_parameter {ODD}",
    {
        Similarity(missing=0.25, required=True): 0.5,
        Recency(
            half_life=14,
            curve=Curve.LINEAR,
            clock=Clock.LATEST,
            unknown=0.1,
            half_lives_by_type={ODD: 1.5, "b": 180, "tiny": 1e-9},  # type: ignore[arg-type]
        ): 0.3,
        Confidence(): 0.1,
        Attribute(name="own", metadata=f"a.{ODD}", least=-1, most=10**12, falling=True): 0.05,
        Attribute(name="views", metadata="Page views", missing=0.5): 0.05,
    },
    redistribute=True,
    min_relevance=0.1,
    decay=Decay(
        Recency(half_life=30, half_lives_by_tier={ODD: 7.5}),  # type: ignore[arg-type]
        floor=0.25,
    ),
)


@pytest.mark.parametrize("ending", ["toml", "json"])
@pytest.mark.parametrize(
    "profile", [*profiles.BUILT_IN.values(), EVERY_PARAMETER], ids=lambda profile: profile.name[:15]
)
def test_what_is_saved_is_loaded(tmp_path: Path, profile: Profile, ending: str) -> None:
    file = tmp_path / f"profile.{ending}"

    profiles.save(profile, file)

    assert profiles.load(file) == profile


NO_CUP = "no parameter cup (did you mean cap?); its parameters are weight, cap"
RECENCY = 'name = "x"\n[signals.recency]\nweight = 1'


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", InvalidProfile, "a name and a table of signals"),
        ('name = "x"\n[signals.magic]\nweight = 1', UnknownName, "entity_overlap"),
        ('name = "x"\n[signals.similarity]\nwait = 1', InvalidProfile, "with a weight"),
        ('name = "x"\n[signals.similarity]\nweight = "1"', InvalidProfile, "a number"),
        ('name = "x"\n[signals.frequency]\nweight = 1\ncup = 3', UnknownName, NO_CUP),
        ('name = "x"\n[signals.frequency]\nweight = 1\ncap = 0', InvalidProfile, "cap"),
        (f"{RECENCY}\nrate = 1\n[decay]\nrate = 1\nfloor = 2", InvalidProfile, "decay: floor must"),
        (f"{RECENCY}\nrate = 1\n[decay]\nrate = 1\nflor = 0", UnknownName, "flor (did you mean f"),
        (f"decay = 30\n{RECENCY}\nrate = 1", InvalidProfile, "decay must be a table, got 30"),
        (f'{RECENCY}\nhalf_life = 1\ncurve = "s"', InvalidProfile, "exponential, hyperbolic, l"),
        ('name = "x"\n[signals.own]\nweight = 1\ntable = "t"', UnknownName, "which have metadata"),
        ('name = "x"\n[signals.own]\nweight = 1\nmetadata = "a"\nto = 1', UnknownName, "falling"),
        ('name = "x"\nother = 1\n[signals.similarity]\nweight = 1', UnknownName, "other"),
    ],
)
def test_a_file_that_is_no_profile_is_named_with_the_reason(
    tmp_path: Path, text: str, error: type[Exception], said: str
) -> None:
    file = tmp_path / "profile.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(error) as refused:
        profiles.load(file)

    assert said in str(refused.value)
    assert str(file) in str(refused.value)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProfile, match=r"end in \.toml or \.json"):
        profiles.save(profiles.five_factor, tmp_path / "profile.yaml")
    with pytest.raises(InvalidProfile, match=r"nowhere\.toml cannot be read"):
        profiles.load(tmp_path / "nowhere.toml")
    for name in ("folder.toml", "folder.json"):
        (tmp_path / name).mkdir()
        with pytest.raises(InputError, match=rf"{name} cannot be written: Is a directory"):
            profiles.save(profiles.trust, tmp_path / name)


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NAIVE = NOW.replace(tzinfo=None)


def test_values_left_out_or_none_count_as_the_columns_defaults() -> None:
    defaults = {"similarity": 0.0, "recency": 0.5, "usefulness": 0.5, "confidence": 0.8}
    names = ["similarity", "created_at", "last_accessed_at", "usefulness", "confidence"]
    nothing = dict.fromkeys([*names, "retrieval_count"])

    assert score(profiles.five_factor, {}, as_of=NOW).signals == defaults | {"frequency": 0.0}
    assert score(profiles.five_factor, nothing, as_of=NOW) == score(profiles.five_factor, {})
    with pytest.raises(UnknownName, match=r"relevance.*created_at, observed_at, last_accessed_at"):
        score(profiles.five_factor, {"relevance": 1})


def test_the_score_is_the_sum_of_its_contributions_at_full_precision() -> None:
    values = {"similarity": 1 / 3, "usefulness": 0.7, "created_at": NOW - timedelta(days=2)}

    result = score(profiles.five_factor, values, as_of=NOW)

    by_hand = 0.4 / 3 + 0.25 * exp(-0.1) + 0.2 * 0.7 + 0.1 * 0.8
    assert result.score == pytest.approx(by_hand, abs=1e-15)
    assert result.score == fsum(result.contributions.values()) != round(result.score, 6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"created_at": NAIVE}, r"time zone|datetime"),
        ({"created_at": 20260101}, r"time zone|datetime"),
        ({"created_at": "yesterday"}, "created_at is not an ISO 8601 time"),
        *(
            ({name: value}, name)
            for name in ("similarity", "usefulness", "confidence", "retrieval_count")
            for value in (float("nan"), "0.5")
        ),
        *(({"period": bad}, "two datetimes") for bad in (NOW, (NOW,), (NOW, None))),
        ({"period": (NAIVE, NOW)}, "period must.*with a time zone"),
        ({"period": (NOW, NOW)}, "period must.*end after it begins"),
    ],
)
def test_a_value_that_cannot_be_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(profiles.hybrid, values, as_of=NOW)


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FIVE = profiles.five_factor


def test_several_are_scored_and_come_best_first() -> None:
    """As IBEX Harness's MemoryScorer takes them: with keys of their own."""
    memories = [
        {"id": n, "content": f"memory {n}", "similarity": similarity, "created_at": None}
        for n, similarity in enumerate((0.1, 0.9, 0.5, 0.9))
    ]

    found = score_all(FIVE, memories, as_of=NOW)

    assert [one.values["id"] for one in found] == [1, 3, 2, 0], "of equals, the first given"
    assert found[0].values is memories[1]
    alone = score(FIVE, {"similarity": 0.9, "created_at": None}, as_of=NOW)
    assert (found[0].score, found[0].signals) == (alone.score, alone.signals)
    assert score_all(FIVE, iter([])) == []


@pytest.mark.parametrize("written", ["2026-05-22T12:00:00", "2026-05-22T14:00+02:00"])
def test_times_may_be_text_and_without_a_zone_are_in_utc(written: str) -> None:
    values = {"similarity": 0.62, "created_at": written, "usefulness_score": 0.7}

    found = score(FIVE, values | {"confidence": 0.9, "access_count": 12}, as_of=NOW)

    expected = 0.40 * 0.62 + 0.25 * exp(-0.5) + 0.20 * 0.7 + 0.10 * 0.9 + 0.05 * 12 / 50
    assert found.score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("memories", "error", "said"),
    [
        ([{}, {"similarity": "x"}], InputError, "memory 1 of 2: similarity must be a number"),
        ([{"created_at": "soon"}], InputError, "created_at is not an ISO 8601 time: 'soon'"),
        ([{"trust_curve": "odd"}], UnknownName, "memory 0 of 1: unknown trust_curve"),
        ([{"usefulness": 1, "usefulness_score": 1}], InputError, "usefulness is given twice"),
        ([1], InputError, "memory 0 of 1: score needs a Mapping, got 1"),
        ({"similarity": 1}, InputError, "memories must be a list of mappings"),
    ],
)
def test_what_is_wrong_is_named(memories: Any, error: type[InputError], said: str) -> None:
    with pytest.raises(error, match=said):
        score_all(FIVE, memories)


def test_bands_are_explained_to_a_model() -> None:
    text = bands.instructions(bands.RADAROS)

    limits = {
        bands.RADAROS: [(0.8, 1), (0.5, 0.7), (0.1, 0.4)],
        bands.RADAROS_SIGNS: [(0.8, 1), (0.6, 0.8), (0.4, 0.6), (0.1, 0.3)],
        bands.MEMORY_OS: [(0.7, 0.9), (0.5, 0.5), (0.2, 0.4)],
    }
    for several, expected in limits.items():
        assert [(one.least, one.most) for one in several] == expected
    for band in bands.RADAROS:
        assert f"{band.least:.1f} to {band.most:.1f}: {band.what}" in text
    assert "0.5: ordinary" in bands.instructions(bands.MEMORY_OS)
    assert 0.85 in bands.RADAROS[0]
    assert 0.75 not in bands.RADAROS[1]
    assert bands.RADAROS_SIGNS[0].what in bands.instructions()
