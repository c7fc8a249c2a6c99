"""What the studio advises is what happens, and what it did it says."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from urllib.parse import parse_qs

import pytest

from pgrecall import NewMemory, profiles
from tests.browser.conftest import Open
from tests.browser.test_studio import asking, owner
from tests.integration.serving import Service

__all__ = ["owner"]


@pytest.fixture
def sought(studio: Service, owner: str) -> str:
    """A memory of little use for the question, but of great importance, behind others."""
    for number in range(3):
        studio.repo.add(owner, NewMemory(f"Ines gets to work, part {number}.", importance=0.6))
    bread = NewMemory("Nora bakes bread on Sundays.", importance=1.0, tags=["bread"])
    return str(studio.repo.add(owner, bread))


def test_what_is_advised_brings_the_memory_in(
    studio: Service, page_at: Open, owner: str, sought: str
) -> None:
    address = asking(owner, view=f"memory/{sought}", k=2)
    page = page_at(address, key=studio.key(owner, scope="read"))
    page.get_by_text("importance at .").wait_for()
    named = page.locator("h3 + ul.reasons").last.inner_text()
    for signal in profiles.hybrid.weights:
        assert signal.replace("_", " ") in named  # a way, no way, or not asked for
    number = page.get_by_role("link", name="Try it").count()
    for one in range(number):
        page.goto(f"{studio.url}/studio{address}")
        page.get_by_role("link", name="Try it").nth(one).click()
        said = page.get_by_text("The memory that you seek").inner_text()
        assert "is hit " in said
        ids = [hit.get_attribute("data-id") for hit in page.locator("li.hit").all()]
        assert sought in ids[:2]
        values = parse_qs(page.url.partition("?")[2])
        assert float(values["w.time"][0]) == pytest.approx(0.13, abs=0.001)
        assert float(values["w.entity_overlap"][0]) == pytest.approx(0.087, abs=0.001)

    page.get_by_role("link", name=sought[:8]).first.click()
    page.get_by_text("The weights are adjusted").wait_for()


def test_without_a_weight_that_helps_more_hits_are_advised(
    studio: Service, page_at: Open, owner: str
) -> None:
    old = datetime(2001, 1, 1, tzinfo=UTC)
    bread = NewMemory("Bread.", importance=0, confidence=0, created_at=old)
    worst = studio.repo.add(owner, bread)
    address = asking(owner, view=f"memory/{worst}", k=1)
    page = page_at(address, key=studio.key(owner, scope="read"))
    page.get_by_text("Ask for 3 hits").wait_for()
    assert page.get_by_role("columnheader", name="memories").is_visible()  # the question's words
    page.get_by_role("link", name="Try it").click()
    page.get_by_text("is hit 3").wait_for()


def test_a_superseded_memory_says_so(studio: Service, page_at: Open, owner: str) -> None:
    [old] = studio.repo.list(owner, filter={"content": {"$match": "tram"}})
    studio.repo.supersede(owner, old.id, "Ines takes the bike.")
    page = page_at(asking(owner, view=f"memory/{old.id}"), key=studio.key(owner))
    ended = page.locator(".ended")
    ended.get_by_role("link", name="Ines takes the bike.").wait_for()
    assert ended.inner_text().startswith("Superseded on ")
    assert "it is no longer found" in ended.inner_text()
    assert page.locator("svg .curve").count() == 0
    assert page.get_by_text("no longer found (stored as active)").count() == 1
    page.get_by_role("heading", name="It is not among the hits").wait_for()
    assert page.get_by_role("link", name="Try it").count() == 0  # no weight brings it back
    assert "+00" not in page.locator("ul.reasons").first.inner_text()


def test_a_successor_keeps_what_is_not_changed(
    studio: Service, page_at: Open, owner: str, sought: str
) -> None:
    studio.repo.update(owner, sought, entities=["Nora"], subject="bread", metadata={"oven": "old"})
    page = page_at(f"#memory/{sought}?owner={owner}", key=studio.key(owner))
    page.get_by_role("button", name="Supersede").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("The new text").fill("Nora bakes bread on Mondays.")
    dialog.get_by_label("Type").fill("habit")
    dialog.get_by_role("button", name="Supersede").click()
    page.locator(".ended").get_by_role("link", name="Nora bakes bread on Mondays.").wait_for()

    [new] = studio.repo.list(owner, filter={"content": {"$match": "Mondays"}})
    assert (new.memory_type, new.importance, new.tags) == ("habit", 1.0, ["bread"])
    assert (new.entities, new.subject, new.metadata) == (["Nora"], "bread", {"oven": "old"})


ADVISE = """async ([candidates, sought, shares, k]) => {
    const { remedies } = await import("/studio/core/remedy.js");
    return remedies(candidates, sought, shares, k);
}"""


def test_the_weight_advised_is_the_nearest(studio: Service, page_at: Open, owner: str) -> None:
    """By a count of its own, over every step of a slider."""
    names, k = ("keyword", "recency", "trust"), 5
    given = Random(7)
    values = [{name: given.random() for name in (*names, "time")} for _ in range(60)]
    shares = {"keyword": 0.5, "recency": 0.2, "trust": 0.1, "time": 0.2}
    candidates = {
        "profile": {"name": "four", "redistribute": True, "signals": {}},
        "total": len(values),
        "signals": {name: {"has_value": name != "time", "nth": 0} for name in shares},
        "decay": None,
        "memories": [
            {"memory": {"id": f"{number:02}"}, "signals": one, "age_days": {}}
            for number, one in enumerate(values)
        ],
    }
    page = page_at(f"#ask?owner={owner}", key=studio.key(owner))

    def place(at: int, name: str, share: float) -> int:
        others = sum(shares[one] for one in names if one != name)
        weights = {one: shares[one] * (0.8 - share) / others for one in names} | {name: share}
        scores = [sum(weights[one] * memory[one] for one in names) for memory in values]
        return 1 + sum(score > scores[at] for score in scores)

    advised = lowered = 0
    for at in range(60):
        memory = {"id": f"{at:02}", "signals": values[at]}
        if place(at, "trust", shares["trust"]) <= k:
            continue
        for one in page.evaluate(ADVISE, [candidates, memory, shares, k]):
            name = one["signal"]
            steps = [step for step in range(161) if place(at, name, step / 200) <= k]
            near = sorted(abs(step / 200 - shares[name]) for step in steps)
            change = abs(one["share"] - shares[name]) if one["shares"] else None
            assert change == (pytest.approx(near[0]) if steps else None)
            if steps:
                advised += 1
                lowered += one["share"] < shares[name]
                assert one["place"] == place(at, name, one["share"])
                assert one["isExact"]
                assert one["shares"]["time"] == pytest.approx(0.2, abs=2e-5)
    assert advised > lowered + 10
    assert lowered > 5
