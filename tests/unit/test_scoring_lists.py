"""Scoring values at hand: several at once, times as text, other systems' names, bands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp
from typing import Any

import pytest

from pgrecall import bands, profiles, score, score_all
from pgrecall.errors import InputError, UnknownName

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


def test_all_are_scored_at_one_moment() -> None:
    made = datetime.now(UTC) - timedelta(days=1)
    first, *others = score_all(FIVE, [{"created_at": made}] * 100)

    assert {one.score for one in others} == {first.score}


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
        ("text", InputError, "memories must be a list of mappings"),
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
