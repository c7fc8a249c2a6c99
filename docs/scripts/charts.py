"""`make charts`: draws the figures of benchmarks/RESULTS.md into docs/charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docs.scripts.results import number, table

FOLDER = Path(__file__).parents[1] / "charts"
WIDTH, MARGIN = 380, 12
STYLE = """
    .paper { fill: #ffffff } .ink { fill: #1f2933 } .quiet { fill: #52606d } .grid { stroke: #d9e2ec }
    .ours { fill: #0b8f6a } .other { fill: #9fb3c8 } .line-ours { stroke: #0b8f6a } .line-other { stroke: #829ab1 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #1e2129 } .ink { fill: #e4e7eb } .quiet { fill: #a8b3c0 } .grid { stroke: #3e4c59 }
      .ours { fill: #27ab83 } .other { fill: #627d98 } .line-ours { stroke: #27ab83 } .line-other { stroke: #829ab1 }
    }
  """  # noqa: E501


@dataclass(frozen=True)
class Bar:
    """A bar, with what stands at its right."""

    label: str
    value: float
    shown: str
    is_ours: bool = False


def drawing(title: str, height: float, parts: Iterable[str]) -> str:
    """An SVG as wide as a telephone, on paper of its own, so that it can be read on any page."""
    inside = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}"'
        f' height="{height:g}" font-family="sans-serif" font-size="13" role="img"'
        f' aria-label="{escape(title)}">\n  <style>{STYLE}</style>\n'
        f'  <rect class="paper" width="{WIDTH}" height="{height:g}" rx="6"/>\n'
        f"  {text(MARGIN, 24, title, weight='bold')}\n  {inside}\n</svg>\n"
    )


def text(x: float, y: float, words: str, kind: str = "ink", **more: str) -> str:
    names = {"weight": "font-weight", "anchor": "text-anchor", "size": "font-size"}
    attributes = "".join(f' {names[name]}="{value}"' for name, value in more.items())
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{attributes}>{escape(words)}</text>'


def bars(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Horizontal bars from zero, with one scale in each group."""
    parts, y = [], 30.0
    for name, group in groups.items():
        if name:
            parts.append(text(MARGIN, y + 20, name, "quiet"))
            y += 24
        longest = max(one.value for one in group)
        for one in group:
            weight = "bold" if one.is_ours else "normal"
            width = max(1.0, (WIDTH - 2 * MARGIN) * one.value / longest)
            kind = "ours" if one.is_ours else "other"
            parts += [
                text(MARGIN, y + 18, one.label, weight=weight),
                text(WIDTH - MARGIN, y + 18, one.shown, weight=weight, anchor="end"),
                f'<rect class="{kind}" x="{MARGIN}" y="{y + 23:g}" height="7"'
                f' width="{width:.1f}"/>',
            ]
            y += 34
        y += 8
    return drawing(title, y + 2, parts)


def lines(title: str, across: str, up: str, series: dict[str, dict[float, float]]) -> str:
    """Lines over two scales of logarithms; the first is ours."""
    left, right, top, bottom = 40.0, WIDTH - 20.0, 50.0, 240.0
    points = [point for one in series.values() for point in one.items()]
    ends = [(min(axis), max(axis)) for axis in zip(*points, strict=True)]

    def place(value: float, axis: int, low: float, high: float) -> float:
        least, most = ends[axis]
        return low + (high - low) * math.log(value / least) / math.log(most / least)

    parts = [text(MARGIN, 42, up, "quiet")]
    for power in range(8):
        for digit in (1, 2, 5):
            tick = digit * 10.0**power
            if ends[0][0] <= tick <= ends[0][1] and digit == 1:
                x = place(tick, 0, left, right)
                parts.append(f'<path class="grid" d="M{x:.1f} {top:g} V{bottom:g}"/>')
                parts.append(text(x, bottom + 16, f"{tick:,.0f}", "quiet", anchor="middle"))
            if ends[1][0] <= tick <= ends[1][1]:
                y = place(tick, 1, bottom, top)
                parts.append(f'<path class="grid" d="M{left:g} {y:.1f} H{right:g}"/>')
                parts.append(text(left - 6, y + 4, f"{tick:g}", "quiet", anchor="end"))
    for n, (name, values) in enumerate(series.items()):
        kind = "other" if n else "ours"
        at = [
            (place(x, 0, left, right), place(y, 1, bottom, top)) for x, y in sorted(values.items())
        ]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        parts.append(f'<path class="line-{kind}" fill="none" stroke-width="2.5" d="M{path}"/>')
        parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in at]
        x, y = at[-2]  # of a line that rises, the room at its left is free
        weight = "normal" if n else "bold"
        parts.append(text(x - 10, y - 10, name, anchor="end", weight=weight))
    parts.append(text(right, bottom + 34, across, "quiet", anchor="end"))
    return drawing(title, bottom + 44, parts)


def time_by_size() -> str:
    rows = table("Rank indexes", "memories of one agent")
    columns = {name: rows["memories of one agent"].index(f"{name}, ms") for name in NAMES}
    series = {
        shown: {
            number(size): number(cells[columns[name]])
            for size, cells in rows.items()
            if size[0].isdigit()
        }
        for name, shown in NAMES.items()
    }
    return lines("Time of a search by the size of the agent", "memories", "ms", series)


NAMES = {"rank index": "with a rank index", "exact": "every memory scored"}


def rank_index() -> str:
    rows = table("Rank indexes", "memories | question")
    heading = rows["memories"]
    cells = rows["100,000 × 384 d, topics"]  # the first of them: five_factor
    ours = cells[heading.index("recall@10")]
    faster = cells[heading.index("times as fast")]
    found = [Bar("rank index", number(ours), _found(number(ours), number(faster)), True)]
    for name, label in (
        ("50 nearest: recall, ×", "50 nearest by cosine, ranked again"),
        ("200 nearest", "200 nearest"),
        ("1,000 nearest", "1,000 nearest"),
    ):
        recall, times = map(number, cells[heading.index(name)].split(", "))
        found.append(Bar(label, recall, _found(recall, times)))
    return bars("Found of the ten best among 100,000 memories", {"": found})


def _found(recall: float, times: float) -> str:
    return f"{recall:.0%}, {times:g}× as fast"


def everyday() -> str:
    rows = table("Everyday searches", "100 | 1,000")
    labels = {
        "search / cosine": "a search that counts its hits",
        "search, `touch=False` / cosine": "one that does not",
        "search by `hybrid` with a text, `touch=False` / cosine": "one by words too",
    }
    sizes = rows[""]
    groups = {
        f"agents of {size} memories": [
            Bar("order by cosine distance, by hand", 1.0, "1"),
            *(
                Bar(label, number(rows[name][n]), f"{number(rows[name][n]):.1f}", True)
                for name, label in labels.items()
            ),
        ]
        for n, size in enumerate(sizes[:3])
    }
    return bars("Times as long as a query by hand", groups)


def in_the_application() -> str:
    rows = table("Exact searches", "median, ms")
    labels = {
        "cosine distance, same filters": "order by cosine distance alone",
        "five_factor": "search by five_factor",
        "hybrid": "search by hybrid",
        "same, only the columns ranked by": "ranked columns fetched, NumPy",
        "all rows fetched, ranked in NumPy": "all rows fetched, NumPy",
    }
    found = [
        Bar(
            label,
            number(rows[name][0]),
            f"{number(rows[name][0]):.0f} ms",
            "search" in label,
        )
        for name, label in labels.items()
    ]
    return bars("Ranking 10,000 memories", {"": found})


def beside_others() -> str:
    labels = {
        "pgrecall": "pgrecall",
        "by hand, 100": "by hand with psycopg",
        "LangGraph PostgresStore, 100": "LangGraph PostgresStore",
        "mem0 PGVector, 100": "mem0 PGVector",
        "LangChain PGVectorStore, 100": "LangChain PGVectorStore",
    }
    groups = {}
    for size in ("100", "1,000", "10,000"):
        rows = table("Beside other packages", f"Agents of {size}:")
        time, recall = rows[""].index("none: ms"), rows[""].index("recall")
        groups[f"agents of {size} memories"] = [
            Bar(
                label,
                number(rows[name][time]),
                f"{rows[name][time]} ms, finds {number(rows[name][recall]):.0%}",
                name == "pgrecall",
            )
            for name, label in labels.items()
        ]
    return bars("The ten best by a score, without an index", groups)


def profiles() -> str:
    rows = table("Twelve owners", "profile | dialogue")
    every = rows["profile"].index("all")
    apart = ("profile", "hybrid, unshifted")
    found = {name: number(cells[every]) for name, cells in rows.items() if name not in apart}
    ranked = sorted(found, key=lambda name: -found[name])
    shown = [
        Bar(name, found[name], f"{found[name]:.3f}", name.startswith("hybrid")) for name in ranked
    ]
    return bars("recall@10 of 124 questions kept back", {"": shown})


CHARTS: dict[str, Callable[[], str]] = {
    "time-by-size": time_by_size,
    "rank-index": rank_index,
    "everyday": everyday,
    "in-the-application": in_the_application,
    "beside-others": beside_others,
    "profiles": profiles,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in CHARTS.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
