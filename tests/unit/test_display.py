"""Records show themselves: in few characters, and whatever they hold stays text."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest

from pgrecall import (
    Context,
    Evaluation,
    Event,
    Explanation,
    Floor,
    Hits,
    Link,
    Page,
    QueryPlan,
    ScoredMemory,
    Tuning,
    profiles,
)
from pgrecall.context.assembled import LeftOut, Packed
from pgrecall.evaluation.results import Difference, ProfileEvaluation, Scores
from pgrecall.search.explanation import SignalAccount, TermAccount
from tests.unit.test_context_style import memory

ID = UUID("0197a3c2-0000-7000-8000-000000000001")
EVIL = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> \" ' & </td></table> "
    "\033[31mred\033]0;title\007 \x9b1m \u202eturned\u2066 [bold]x[/bold]\r\n\u2028<b>"
)
LONG = f"{EVIL} " + "word " * 10_000


def hit(
    content: str = "Ines drinks her tea without milk.", parts: dict[str, float] | None = None
) -> ScoredMemory:
    parts = parts or {"similarity": 0.4, "keyword": 0.2, "trust": 0.03, "recency": 0.0}
    one = memory(content, id=ID, agent_id="ada")
    signals = dict.fromkeys(parts, 0.5)
    return ScoredMemory(one, sum(parts.values()), 0.8, signals, parts, relevance=0.6)


def scores(first: bool) -> Scores:
    means = {"recall": 0.8125, "mrr": 0.7, "ndcg": 0.75}
    differences = {} if first else {name: Difference(0.02, 0.01, 0.03, 12) for name in means}
    return Scores(12, means, differences)


def evaluation(*names: str) -> Evaluation:
    compared = [
        ProfileEvaluation(
            profiles.hybrid.renamed(name), scores(not number), {}, {"ndcg": [0.5] * 10_000}
        )
        for number, name in enumerate(names)
    ]
    return Evaluation(10, compared[:-1], compared[-1:], 0, [Floor(0.05, 0.5, 0.0, 1.0, 0.8)])


def explanation(text: str) -> Explanation:
    signals = [SignalAccount("similarity", 0.8, 0.5, 0.4, 0.6, 0.1), *[SIGNAL] * 8]
    terms = tuple(TermAccount(text, True, 1.0, 0.1, 3) for _ in range(50))
    why = (text, "its score is too low")
    return Explanation(hit(text), 12, 300, 10, True, False, why, 0.7, tuple(signals), terms)


SIGNAL = SignalAccount("keyword", 0.8, 0.5, 0.4, 0.6, -0.1, 0.4, 0.9)
CONTEXT = Context(
    text="m482 20260305 fact: Ines drinks her tea.\n/m482\n",
    packed=[Packed(hit(), 12)],
    left_out=[LeftOut(hit(LONG), 40, "too_long"), *[LeftOut(hit(), 40, "limit")] * 80],
    tokens=18,
    max_tokens=100,
    marker="m482",
    strategy="exact",
)


def event(text: str) -> Event:
    return Event(
        id=ID,
        memory_id=ID,
        event_type="feedback",
        reason=text,
        actor=text,
        old_values={"content": text},
        new_values={},
        metadata={},
        occurred_at=datetime(2026, 6, 1, 12, tzinfo=UTC),
    )


def records(text: str) -> dict[str, tuple[Any, int]]:
    """Records that hold a text, each with the most characters of its repr."""
    return {
        "memory": (memory(text, text, id=ID, agent_id=text), 200),
        "hit": (hit(text), 200),
        "hits": (Hits([hit(text)] * 10, profile=text, keywords=text), 2_000),
        "many hits": (Hits([hit(text)] * 100), 2_000),
        "page": (Page([memory(text, text, id=ID, agent_id="a")] * 100, cursor=text), 2_500),
        "page of links": (Page([Link(source_id=ID, target_id=ID, kind=text, weight=1.0)]), 2_500),
        "packed": (Packed(hit(text), 12), 200),
        "left out": (LeftOut(hit(text), 12, "limit"), 200),
        "context": (replace(CONTEXT, packed=[Packed(hit(text), 9)] * 100), 200),
        "explanation": (explanation(text), 500),
        "plan": (QueryPlan(text, text, "exact"), 500),
        "evaluation": (evaluation(*[f"{n} {text[:200]}" for n in range(30)]), 500),
        "evaluation of a profile": (evaluation(text[:200], "b").profiles[0], 200),
        "event": (event(text), 200),
    }


NAMES = list(records("a"))
IN_NOTEBOOKS = {
    *("hit", "hits", "many hits", "page", "page of links"),
    *("context", "explanation", "plan", "evaluation"),
}


class Reader(HTMLParser):
    """What a browser makes of HTML: elements, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["tea", EVIL, LONG], ids=["plain", "evil", "long"])
def test_a_repr_is_short_and_no_form_speaks_to_a_terminal_or_browser(name: str, text: str) -> None:
    record, most = records(text)[name]

    assert len(repr(record)) <= most
    html = record._repr_html_() if hasattr(record, "_repr_html_") else ""
    for shown in (repr(record), str(record), html):
        assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    read = Reader(html)
    assert read.open == []
    assert read.elements <= {"pre", "span"}
    assert read.attributes <= {"style"}
    assert bool(html) == (name in IN_NOTEBOOKS)
    if html and text != "tea" and "evaluation" not in name:
        assert "<script>alert(1)</script>" in read.text


def test_a_line_shows_one_record() -> None:
    for name in ("memory", "hit", "event"):
        record, _ = records(LONG)[name]
        assert "\n" not in str(record)
        assert len(str(record)) < 300
    assert str(hit()) == "0.630 Ines drinks her tea without milk."
    assert str(memory("tea\nwith milk")) == "2026-03-05 fact: tea with milk"
    assert str(event("why")) == "2026-06-01 12:00:00 feedback by why: why"
    assert str(Hits()) == str(Page()) == "[]"
    assert str(Hits([hit("a"), hit("b")])) == "0.630 a\n0.630 b"
    assert str(Page([memory("a"), memory("b")])) == "2026-03-05 fact: a\n2026-03-05 fact: b"


def test_longer_records_show_themselves_on_several_lines() -> None:
    assert str(explanation("tea")).splitlines() == [
        "tea",
        "not returned: rank 12 of 300 that pass, score 0.630000, relevance 0.600",
        "tea",
        "its score is too low",
    ]
    assert str(QueryPlan("SELECT\n1", "Result\n  cost", "exact")) == "SELECT\n1\n\nResult\n  cost"
    table = str(evaluation("mine", "trust", "hybrid")).splitlines()
    assert table[0] == "all queries: 12"
    assert re.fullmatch(r"profile +recall@10 +± first +MRR +± first +nDCG@10 +± first", table[1])
    assert [line.split()[0] for line in table[3:7]] == ["mine", "trust", "-------", "hybrid"]
    assert "0.813" not in table[3]
    assert re.search(r"0\.812 +0\.700 +0\.750", table[3])
    assert "+0.020 [+0.010, +0.030]" in table[4]
    assert table[7].startswith("min_relevance, by mine")
    for one in (explanation("tea"), QueryPlan("a", "b", "exact"), evaluation("a", "b")):
        assert "\n" not in repr(one)


def test_a_context_is_its_text() -> None:
    assert f"{CONTEXT}" == str(CONTEXT) == CONTEXT.text
    assert repr(CONTEXT).startswith("Context(1 memory in 18 of 100 tokens, 81 left out, 'm482")
    shown = Reader(str(CONTEXT._repr_html_())).text
    assert shown.startswith(CONTEXT.text.rstrip())
    assert "and 76 more left out" in shown
    assert shown.count("enough are included") == 4


def test_without_rich_there_is_no_html(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgrecall.core.drawing", None)

    assert hit()._repr_html_() is CONTEXT._repr_html_() is None


SAME: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda one: pickle.loads(pickle.dumps(one)),
]


@pytest.mark.parametrize("again", SAME, ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("name", [one for one in NAMES if "evaluation" not in one])
def test_records_are_values_as_before(name: str, again: Callable[[Any], Any]) -> None:
    record, _ = records("tea")[name]

    other = again(record)

    assert type(other) is type(record)
    assert other == record
    assert repr(other) == repr(record)
    if isinstance(record, Hits):
        assert (other.strategy, other.keywords) == (record.strategy, record.keywords)


def test_a_tuning_shows_its_verdict() -> None:
    start, found = profiles.hybrid.renamed("x" * 300), profiles.hybrid
    both = evaluation("start", "found", "similarity")
    tuning = Tuning(start, found, both, 40)

    assert len(repr(tuning)) <= 500
    shown = str(tuning).splitlines()
    assert "is better than x" in shown[0]
    assert max(map(len, shown)) < 200
    assert [shown[1].split(), shown[3].split()[0]] == [["weight", "before", "after"], "similarity"]
    assert "all queries: 12" in shown
