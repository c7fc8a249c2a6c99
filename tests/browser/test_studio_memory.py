"""One memory in the studio: what time does to it, what it is connected with, and changes of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.test_studio import QUESTION, asking, owner, set_slider
from tests.integration.serving import Service

__all__ = ["owner"]
OLD, NEW = "Ines takes the tram to get to work.", "Ines cycles to work."


@pytest.fixture
def memory_id(studio: Service, owner: str) -> str:
    """The one that answers the question."""
    [memory] = studio.repo.list(owner, filter={"content": {"$match": "tram"}})
    return str(memory.id)


def chosen(page: Page, name: str) -> Locator:
    """The dialog of a change."""
    page.get_by_role("button", name=name).click()
    return page.get_by_role("dialog", name=f"{name} this memory?")


def test_a_day_in_the_past_hides_what_came_later(
    studio: Service, page_at: Open, owner: str
) -> None:
    page = page_at(asking(owner), key=studio.key(owner, scope="read"))
    hits = page.locator(".hit")
    expect(hits).to_have_count(2)

    set_slider(page, "As of", -100)
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("Ines takes the tram")
    expect(page.locator(".summary")).to_contain_text("1 of 1 memory, by hybrid, as of")
    page.wait_for_url("**as_of=2*")

    set_slider(page, "As of", 0)
    expect(hits).to_have_count(2)
    assert "as_of" not in page.url


def test_the_score_over_the_next_year_is_what_a_search_will_find(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    page = page_at(asking(owner, view=f"memory/{memory_id}"), key=studio.key(owner, scope="read"))
    curve = page.get_by_role("img", name="Its score by hybrid: today")
    said = dict(re.findall(r"(today|after a year) (\S+\d)", curve.get_attribute("aria-label")))

    now = datetime.now(UTC)
    for when, days in (("today", 0), ("after a year", 365)):
        hits = studio.repo.search(
            owner, QUESTION, as_of=now + timedelta(days=days), touch=False, profile="hybrid"
        )
        [score] = [hit.score for hit in hits if str(hit.memory.id) == memory_id]
        assert float(said[when]) == pytest.approx(score, abs=0.001)
    assert curve.locator("path.curve").get_attribute("d").count("L") == 365 // 5


def test_history_links_and_the_successor_lead_on(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    [lamp] = studio.repo.list(owner, filter={"content": {"$match": "lamp"}})
    studio.repo.links.add(owner, memory_id, lamp.id, "contrast", weight=0.5)
    studio.repo.supersede(owner, memory_id, NEW, reason="she moved", actor="ada")
    page = page_at(f"#memory/{memory_id}?owner={owner}", key=studio.key(owner, scope="read"))

    connections = page.get_by_role("region", name="Connections")
    expect(connections).to_contain_text("→ contrast .50 The kitchen has a new blue lamp.")
    events = page.get_by_role("list", name="Events, oldest first").locator("> li")
    expect(events.first).to_contain_text("stored, dated")  # today, of a year ago
    expect(events.filter(has_text="superseded")).to_contain_text("she moved, by ada")

    connections.get_by_role("link", name=NEW).click()
    expect(page.locator("article .content")).to_have_text(NEW)
    page.go_back()
    page.get_by_role("link", name="The kitchen has a new blue lamp.").click()
    expect(connections).to_contain_text(f"← contrast .50 {OLD}")


def test_an_edit_is_made_and_undone(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    page = page_at(f"#memory/{memory_id}?owner={owner}", key=studio.key(owner))
    dialog = chosen(page, "Edit")
    dialog.get_by_label("Text").fill(NEW)
    dialog.get_by_label("Tags").fill("commute, bicycle")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("article .content")).to_have_text(NEW)
    edited = studio.repo.get(owner, memory_id)
    assert edited is not None
    assert (edited.content, sorted(edited.tags)) == (NEW, ["bicycle", "commute"])

    page.get_by_role("button", name="Undo").click()
    expect(page.locator("article .content")).to_have_text(OLD)
    history = page.get_by_role("list", name="Events, oldest first")
    expect(history.locator("del").filter(has_text=NEW)).to_have_count(1)
    assert studio.repo.get(owner, memory_id).tags == []  # type: ignore[union-attr]


def test_only_who_may_maintain_erases_and_only_when_sure(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    address = f"#memory/{memory_id}?owner={owner}"
    page = page_at(address, key=studio.key(owner))
    page.get_by_role("button", name="Supersede").wait_for()
    expect(page.get_by_role("button", name="Erase")).to_have_count(0)

    page = page_at(address, key=studio.key(owner, scope="maintain"))
    dialog = chosen(page, "Erase")
    expect(dialog).to_contain_text("There is no way back")
    dialog.get_by_role("button", name="Erase").click()
    expect(dialog).to_be_visible()  # the box is not ticked
    dialog.get_by_label("Remove it for good").check()
    dialog.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("list", name="Memories").locator(".hit")).to_have_count(1)
    assert studio.repo.get(owner, memory_id) is None
