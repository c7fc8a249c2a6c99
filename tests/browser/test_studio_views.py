"""The other views of the studio, as a person uses them."""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall.scoring import profiles
from tests.browser.conftest import Open
from tests.browser.test_studio import QUESTION, asking, owner, texts
from tests.integration.serving import Service

__all__ = ["owner"]


@pytest.fixture
def memory_id(studio: Service, owner: str) -> str:
    """A third memory, which the question does not find by its words."""
    return str(studio.repo.add(owner, "Nora bakes bread on Sundays.", memory_type="habit"))


def heading(page: Any, name: str) -> Any:
    return page.get_by_role("heading", name=name)


def test_a_missing_memory_is_found_and_explained(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    page = page_at(asking(owner, k=1, types="episodic"), key=studio.key(owner, scope="read"))
    page.get_by_label("Its id, or words that all occur in it").fill("bakes")
    page.get_by_role("button", name="Why not?").click()
    page.get_by_role("link", name="Nora bakes bread").click()

    heading(page, "It is not among the hits").wait_for()
    assert page.get_by_text("filtered by 'memory_type'").count() == 1
    page.get_by_role("link", name="Take the filter “Types” off").click()
    page.get_by_text("filtered by 'memory_type'").wait_for(state="detached")
    assert page.get_by_text("of the 3 that pass").count() == 1
    assert page.get_by_role("button", name="Erase").count() == 0  # this key may only read
    assert memory_id in page.url


def test_what_filters_is_seen_and_taken_off(studio: Service, page_at: Open, owner: str) -> None:
    then = "2024-05-05T12:00:00Z"
    page = page_at(f"#browse?owner={owner}", key=studio.key(owner))
    page.get_by_label("Words that must occur").fill("lamp")
    page.keyboard.press("Enter")
    page.get_by_text("1 of 1 memory").wait_for()
    assert page.get_by_label("Words that must occur").count() == 1  # not among the filters, too

    page.goto(f"{studio.url}/studio{page.url.partition('/studio')[2]}&q=tram")
    for view in ("Ask", "Compare", "Judge"):
        page.get_by_role("link", name=view, exact=True).click()
        page.locator("ol.hits").first.get_by_text("tram").wait_for()
        assert page.locator(".in-force").count() == 0

    address = page.url.partition("/studio")[2].replace("judge", "ask")
    page.goto(f"{studio.url}/studio{address}&text=lamp&as_of={then}&inactive=1")
    for view in ("Ask", "Compare", "Judge"):
        page.get_by_role("link", name=view, exact=True).click()
        chips = page.get_by_role("list", name="Filters in force").get_by_role("button")
        chips.nth(2).wait_for()
        assert [one.partition(":")[0] for one in chips.all_inner_texts()[:2]] == [
            "Words that must occur",
            "also what is inactive or not valid ✕",
        ]
    page.get_by_role("button", name="as of").click()
    chips.nth(2).wait_for(state="detached")
    assert page.locator("output[for=as-of]").inner_text() == "now"
    chips.nth(1).click()
    chips.nth(0).click()
    page.locator("ol.hits").get_by_text("tram").wait_for()


def test_a_day_without_a_time_is_its_end(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(asking(owner), key=studio.key(owner), timezone_id="Asia/Tokyo")
    page.get_by_label("As of this day").fill("2025-05-05")
    page.wait_for_url("**as_of=2025-05-05T14%3A59%3A59*")
    page.get_by_label("at this time").fill("10:30")
    page.wait_for_url("**as_of=2025-05-05T01%3A30%3A00*")


def test_two_profiles_are_compared_in_sentences(studio: Service, page_at: Open, owner: str) -> None:
    address = asking(owner, view="compare", profile="hybrid", **{"with": "five_factor"})
    page = page_at(address, key=studio.key(owner))
    heading(page, "What moves, from left to right").wait_for()
    sentence = page.locator(".differences b").last.inner_text()
    assert sentence.startswith("rose by 1: ")
    assert "recency +" in sentence
    assert page.locator(".lines path").count() == 2


def test_marks_by_keys_become_judged_queries(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(asking(owner, view="judge"), key=studio.key(owner))
    page.locator(".hit").first.wait_for()
    heading(page, "0 judged questions").wait_for()
    page.keyboard.press("?")
    page.get_by_role("region", name="Keys").wait_for()

    page.keyboard.press("y")
    heading(page, "1 judged question").wait_for()
    page.keyboard.press("n")
    page.get_by_text("2 of 2 hits judged").wait_for()
    page.keyboard.press("u")
    page.get_by_text("1 of 2 hits judged").wait_for()
    page.get_by_role("button", name="Does not answer", exact=True).last.click()
    page.get_by_text("2 of 2 hits judged").wait_for()

    page.reload()
    page.get_by_text("2 of 2 hits judged").wait_for()
    [judged] = studio.repo.evaluation.judged_queries(owner)
    first, second = page.locator(".hit").all()
    assert judged.query == QUESTION
    assert [str(one) for one in judged.relevant] == [first.get_attribute("data-id")]
    assert [str(one) for one in judged.irrelevant] == [second.get_attribute("data-id")]


def test_what_either_profile_finds_and_what_neither_does_is_judged(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    newest: dict[str, Any] = {
        f"w.{name}": float(name == "recency") for name in profiles.five_factor.weights
    }
    address = asking(owner, view="judge", k=1, profile="five_factor", **newest)
    page = page_at(f"{address}&with=hybrid", key=studio.key(owner))
    page.get_by_text("0 of 2 hits judged").wait_for()  # one of each profile
    assert texts(page) == ["Nora bakes bread on Sundays.", "Ines takes the tram to get to work."]

    page.get_by_label("Its id, or words that all occur in it").fill("lamp")
    page.get_by_role("button", name="Find it").click()
    found = page.get_by_role("list", name="Memories with these words")
    found.get_by_role("button", name="Answers", exact=True).click()
    elsewhere = page.get_by_role("region", name="Judged, and not among these hits")
    elsewhere.get_by_text("The kitchen has a new blue lamp.").wait_for()
    heading(page, "1 judged question").wait_for()
    [judged] = studio.repo.evaluation.judged_queries(owner)
    [lamp] = studio.repo.list(owner, filter={"content": {"$match": "lamp"}})
    assert [*judged.relevant] == [lamp.id]

    elsewhere.get_by_role("button", name="Answers", exact=True).click()
    elsewhere.wait_for(state="detached")
    heading(page, "0 judged questions").wait_for()


def test_a_change_says_what_it_does_and_is_undone(
    studio: Service, page_at: Open, owner: str, memory_id: str
) -> None:
    page = page_at(f"#memory/{memory_id}?owner={owner}", key=studio.key(owner))
    page.get_by_role("button", name="Invalidate").click()
    dialog = page.get_by_role("dialog", name="Invalidate this memory?")
    assert "It is no longer recalled" in dialog.inner_text()
    dialog.get_by_label("Reason, for the history").fill("she stopped")
    dialog.get_by_role("button", name="Invalidate").click()

    page.get_by_role("button", name="Undo").wait_for()
    assert studio.repo.get(owner, memory_id).invalidated_at is not None  # type: ignore[union-attr]
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_text("revived").wait_for()
    assert studio.repo.get(owner, memory_id).invalidated_at is None  # type: ignore[union-attr]
    events = page.get_by_role("list", name="Events, oldest first")
    assert "she stopped" in events.inner_text()


def test_an_owner_without_memories_is_told_what_to_do(studio: Service, page_at: Open) -> None:
    page = page_at("#ask?owner=nobody", key=studio.key("nobody"))
    heading(page, "nobody has no memories yet").wait_for()
    assert page.get_by_text("pgrecall add").count() == 1


def test_profiles_are_evaluated_on_judged_queries(
    studio: Service, page_at: Open, owner: str
) -> None:
    [answer] = studio.repo.list(owner, filter={"content": {"$match": "tram"}})
    for number in range(9):
        studio.repo.evaluation.judge(owner, answer.id, f"the tram, asked {number} times")
    page = page_at(asking(owner, view="judge"), key=studio.key(owner))
    heading(page, "9 judged questions").wait_for()
    page.get_by_role("button", name="Evaluate hybrid and five_factor").click()
    few = "Too few to tell on 9 questions: nDCG@10 hybrid 1.00, five_factor"
    page.get_by_text(few).wait_for()

    page.locator(".hit").first.get_by_role("button", name="Answers", exact=True).click()
    heading(page, "10 judged questions").wait_for()
    page.get_by_role("button", name="Evaluate hybrid and five_factor").click()
    said = "five_factor is worse than hybrid on 10 questions: nDCG@10 hybrid 1.00, five_factor .63"
    page.get_by_text(said).wait_for()


def test_what_waits_for_approval_is_found_and_approved(
    studio: Service, page_at: Open, owner: str
) -> None:
    studio.repo.add(owner, "Ines has a new passport.", requires_approval=True)
    page = page_at(f"#browse?owner={owner}&status=pending", key=studio.key(owner))
    page.get_by_text("1 of 1 memory").wait_for()
    page.locator(".hit").get_by_role("link").first.click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    page.get_by_text("Approve: done.").first.wait_for()
    assert studio.repo.list(owner, filter={"status": "pending"}, include_inactive=True) == []
