"""Charts: the files are what their names say, and show what was evaluated."""

from __future__ import annotations

import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from pgrecall import Evaluation, Profile, profiles
from pgrecall.errors import ExtraMissing, InputError
from pgrecall.evaluation.chart import MAX_HEIGHT, draw, require_drawable, require_format
from pgrecall.evaluation.results import METRICS, Difference, ProfileEvaluation, Scores

SVG = "{http://www.w3.org/2000/svg}"


def scores(place: int) -> Scores:
    difference = Difference(0.1 * place, 0.1 * place - 0.05, 0.1 * place + 0.05, 7)
    return Scores(
        7,
        dict.fromkeys(METRICS, 0.2 + 0.1 * place),
        dict.fromkeys(METRICS, difference) if place else {},
    )


def evaluation(ranked: Sequence[Profile], groups: Sequence[str] = (), k: int = 10) -> Evaluation:
    parts = [
        ProfileEvaluation(profile, scores(n), {group: scores(n) for group in groups}, {})
        for n, profile in enumerate(ranked)
    ]
    return Evaluation(k, parts[:-1] or parts, parts[-1:] if parts[1:] else [], 0)


TWO = evaluation([profiles.half_life, profiles.trust], ["names", "numbers"], k=7)


def size_of(path: Path) -> tuple[int, int]:
    """Of a PNG, by its header."""
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert header[12:16] == b"IHDR"
    width, height = struct.unpack(">II", header[16:24])
    return width, height


def test_a_png_is_one_and_written_over_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "chart.PNG"
    path.write_text("old")

    draw(TWO, path)

    width, height = size_of(path)
    assert width > 1_000
    assert height > 200
    assert path.read_bytes().endswith(b"IEND\xaeB`\x82")


def test_an_svg_is_one_and_has_a_bar_for_each_value(tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"

    draw(TWO, path)

    root = ET.parse(path).getroot()
    comments = path.read_text("utf-8")
    assert root.tag == f"{SVG}svg"
    for said in ("recall@7", "MRR", "nDCG@7", "half_life", "trust", "all queries", "names"):
        assert f"<!-- {said} -->" in comments
    axes = [g for g in root.iter(f"{SVG}g") if g.get("id", "").startswith("axes_")]
    assert len(axes) == len(METRICS)
    # A patch for the background, one for each of two profiles on three sets, four for the edges.
    for axis in axes:
        patches = [g for g in axis if g.get("id", "").startswith("patch_")]
        assert len(patches) == 1 + 2 * 3 + 4


def test_however_many_groups_there_are_it_can_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.evaluation.chart.MAX_HEIGHT", 10)
    path = tmp_path / "chart.png"

    draw(evaluation([profiles.trust], [f"group {n}" for n in range(60)]), path)

    assert size_of(path)[1] == 10 * 150
    assert MAX_HEIGHT * 150 < 2**16


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("chart", "chart.jpg", ".png", "chart.png.txt", "png"):
        for refuse in (require_format, partial(draw, TWO)):
            with pytest.raises(InputError, match=r"a chart must end in \.png or \.svg"):
                refuse(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=r"none is not a folder"):
        draw(TWO, tmp_path / "none" / "chart.svg")
    with pytest.raises(InputError, match=r"folder\.png cannot be written: Is a directory"):
        draw(TWO, tmp_path / "folder.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for refuse in (require_drawable, partial(draw, TWO)):
        with pytest.raises(ExtraMissing, match=r"pip install 'pgrecall\[chart\]'"):
            refuse(tmp_path / "chart.png")


@pytest.mark.parametrize(
    "name", ['<b> & "q"', "two\nlines", "x" * 200, "Zoë's 50 %", r"the prices $\5 and $6", "_mine"]
)
def test_any_name_can_be_drawn(tmp_path: Path, name: str) -> None:
    several = (
        [profiles.trust.renamed(name), profiles.tiered] if len(name) < 200 else [profiles.trust]
    )

    draw(evaluation(several, [name]), tmp_path / "chart.svg")

    drawn = (tmp_path / "chart.svg").read_text("utf-8")
    assert name != "_mine" or "<!-- _mine -->" in drawn, "as it is in the legend"
    assert len(drawn) > 1_000
