from __future__ import annotations

from pathlib import Path

import pytest

from pgrecall import Profile, profiles
from pgrecall.errors import InputError, InvalidProfile, UnknownName
from pgrecall.scoring.signals import Clock, Confidence, Curve, Recency, Similarity

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
        Confidence(): 0.2,
    },
)


@pytest.mark.parametrize("ending", ["toml", "json"])
@pytest.mark.parametrize(
    "profile", [*profiles.BUILT_IN.values(), EVERY_PARAMETER], ids=lambda profile: profile.name[:15]
)
def test_what_is_saved_is_loaded(tmp_path: Path, profile: Profile, ending: str) -> None:
    file = tmp_path / f"profile.{ending}"

    profiles.save(profile, file)

    assert profiles.load(file) == profile


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", InvalidProfile, "a name and a table of signals"),
        ("name = ", InvalidProfile, "profile.toml"),
        ('name = "x"\n[signals]', InvalidProfile, "must sum to 1"),
        ("name = 7\n[signals.similarity]\nweight = 1", InvalidProfile, "the name"),
        ('name = "x"\n[signals.magic]\nweight = 1', UnknownName, "entity_overlap"),
        ('name = "x"\n[signals.similarity]\nwait = 1', InvalidProfile, "with a weight"),
        ('name = "x"\n[signals.similarity]\nweight = "1"', InvalidProfile, "a number"),
        ('name = "x"\n[signals.similarity]\nweight = nan', InvalidProfile, "similarity"),
        ('name = "x"\n[signals.similarity]\nweight = 0.5', InvalidProfile, "sum to 0.5"),
        (
            'name = "x"\n[signals.frequency]\nweight = 1\ncup = 3',
            UnknownName,
            "no parameter cup; its parameters are weight, cap",
        ),
        ('name = "x"\n[signals.frequency]\nweight = 1\ncap = 0', InvalidProfile, "cap"),
        ('name = "x"\n[signals.frequency]\nweight = 1\ncap = "9"', InvalidProfile, "frequency"),
        ('name = "x"\n[signals.recency]\nweight = 1', InvalidProfile, "rate"),
        (
            'name = "x"\n[signals.recency]\nweight = 1\nhalf_life = 1\ncurve = "s"',
            InvalidProfile,
            "exponential, hyperbolic, linear",
        ),
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


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProfile, match=r"end in \.toml or \.json"):
        profiles.save(profiles.five_factor, tmp_path / "profile.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProfile, match="cannot be read"):
        profiles.load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()

    with pytest.raises(InputError, match=rf"folder\.{ending} cannot be written: Is a directory"):
        profiles.save(profiles.trust, folder)
