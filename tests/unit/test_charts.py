"""The charts of the documentation: what `make charts` draws from RESULTS.md."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from docs.scripts.charts import CHARTS, FOLDER
from docs.scripts.results import number, table


def test_charts_show_what_the_results_say() -> None:
    assert {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == {
        name: draw() for name, draw in CHARTS.items()
    }


@pytest.mark.parametrize(
    "path", [FOLDER.parent / "picture.svg", *sorted(FOLDER.iterdir())], ids=lambda path: path.stem
)
def test_a_picture_fits_a_telephone(path: Path) -> None:
    svg = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    width = float(svg.attrib["width"])

    assert width <= 390
    for one in svg.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(one.get("x", "0")) + float(one.attrib["width"]) <= width
    for one in svg.iter("{http://www.w3.org/2000/svg}text"):
        assert float(one.get("font-size", "13")) >= 12
        assert len("".join(one.itertext())) * 8 < width


def test_a_table_is_read_by_its_names() -> None:
    rows = table("Beside other packages", "Agents of 1,000:")

    assert rows["mem0 PGVector, 100"][rows[""].index("recall")] == "0.93"
    assert number("17.4 (≥ 15)") == 17.4
    assert number("48,100 rows") == 48_100
    with pytest.raises(LookupError, match="no section 'Nothing'"):
        table("Nothing", "")
    with pytest.raises(LookupError, match="no table that begins with 'nothing'"):
        table("Beside other packages", "nothing")
