"""rank.js: what the page computes is what the database computes."""

from __future__ import annotations

from typing import Any

import pytest

RANK = """async ([candidates, setting, k]) => {
    const { rank } = await import("/studio/core/rank.js");
    const ranked = rank(candidates, setting);
    return {ids: ranked.hits.map((hit) => hit.id), bound: ranked.bound, exact: ranked.exact(k),
            scores: ranked.hits.map((hit) => hit.score)};
}"""


def candidate(name: str, recency: float, keyword: float, days: float) -> dict[str, Any]:
    return {
        "memory": {"id": name},
        "signals": {"recency": recency, "keyword": keyword},
        "age_days": {"recency": days},
    }


def candidates(total: int = 2, **profile: Any) -> dict[str, Any]:
    signals = {
        "recency": {"weight": 0.5, "half_life": 10},
        "keyword": {"weight": 0.5},
    }
    return {
        "profile": {"name": "two", "signals": signals, **profile},
        "total": total,
        "signals": {
            "recency": {"has_value": True, "nth": 0.25, "nth_age_days": 20},
            "keyword": {"has_value": True, "nth": 0.5, "nth_age_days": None},
        },
        "decay": None,
        "memories": [candidate("b", 0.5, 0.8, 10), candidate("a", 1.0, 0.3, 0)],
    }


@pytest.fixture(scope="module")
def rank(request: pytest.FixtureRequest) -> Any:
    browser, studio = map(request.getfixturevalue, ("browser", "studio"))
    page = browser.new_page()
    page.goto(f"{studio.url}/studio")
    yield lambda *given: page.evaluate(RANK, [*given])
    page.close()


@pytest.mark.parametrize(
    ("recency", "half_life", "best", "bound", "exact"),
    [
        (0.5, None, 0.65, 0.375, True),  # both score 0.65: the smaller id comes first
        (0.9, None, 0.93, 0.275, True),
        (0.0, None, 0.8, 0.5, False),  # the second has 0.3, and one that was not sent up to 0.5
        (0.5, 20, 0.5 * 2**-0.5 + 0.4, 0.5, True),
    ],
)
def test_the_bound_says_when_the_order_is_exact(
    rank: Any, recency: float, half_life: float | None, best: float, bound: float, exact: bool
) -> None:
    shares = {"recency": recency, "keyword": 1 - recency}
    found = rank(candidates(total=99), {"shares": shares, "halfLife": half_life}, 2)

    assert found["scores"][0] == pytest.approx(best)
    assert found["scores"] == sorted(found["scores"], reverse=True)
    assert found["bound"] == pytest.approx(bound)
    assert found["exact"] is exact
    if recency == 0.5 and half_life is None:
        assert found["ids"] == ["a", "b"]


def test_where_all_were_sent_every_order_is_exact(rank: Any) -> None:
    shares = {"recency": 0.0, "keyword": 1.0}
    assert rank(candidates(), {"shares": shares, "halfLife": None}, 2)["exact"]


def test_a_silent_signal_gives_its_weight_to_the_others(rank: Any) -> None:
    given = candidates(redistribute=True)
    given["signals"]["keyword"]["has_value"] = False
    found = rank(given, {"shares": {"recency": 0.5, "keyword": 0.5}, "halfLife": None}, 2)
    assert found["scores"] == [1.0, 0.5]


def test_a_decay_multiplies_and_takes_the_half_life(rank: Any) -> None:
    given = candidates(decay={"half_life": 10, "floor": 0.5})
    given["profile"]["signals"] = {"keyword": {"weight": 1.0}}
    for one in given["memories"]:
        one["age_days"] = {"decay": one["age_days"].pop("recency")}
        one["signals"]["decay"] = 0.75
    found = rank(given, {"shares": {"keyword": 1.0}, "halfLife": 5}, 2)
    assert found["scores"] == pytest.approx([0.8 * (0.5 + 0.5 * 0.25), 0.3])


def test_before_all_are_counted_no_other_order_is_exact(rank: Any) -> None:
    """Then the n-th values are the most that a signal can have."""
    given = candidates()
    given["total"] = None
    for one in given["signals"].values():
        one |= {"nth": 1.0, "nth_age_days": 0.0}
    found = rank(given, {"shares": {"recency": 0.5, "keyword": 0.5}, "halfLife": None}, 1)
    assert (found["bound"], found["exact"]) == (1.0, False)
