"""The charts of the documentation: what `make charts` draws from RESULTS.md."""

from __future__ import annotations

from docs.scripts.charts import CHARTS, FOLDER


def test_charts_show_what_the_results_say() -> None:
    assert {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == {
        name: draw() for name, draw in CHARTS.items()
    }
