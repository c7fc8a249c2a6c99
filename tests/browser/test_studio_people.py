"""The studio for people: two at once, on a telephone, by keyboard, and when something is away."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import OWN_KEY, Open, own_studio
from tests.browser.test_studio import asking, owner, set_slider, texts
from tests.integration.serving import Service

__all__ = ["owner"]
CHANGES = (
    *("Edit", "Supersede", "Invalidate", "Approve", "Erase", "Answers", "Does not answer"),
    "Evaluate",
)
"""How buttons begin that change something, or cost the service much."""


def changing(page: Any) -> list[str]:
    """The names of buttons of the page that change something."""
    buttons = page.get_by_role("button").all()
    names = [one.get_attribute("aria-label") or one.inner_text() for one in buttons]
    return [name for name in names if name.startswith(CHANGES)]


def test_without_an_embedder_questions_are_words(page_at: Open, own: str, owner: str) -> None:
    page = page_at(asking(owner, "tram"), key=OWN_KEY, url=own)
    expect(page.locator(".hit").first).to_contain_text("Ines takes the tram")
    expect(page.locator(".note")).to_contain_text("This service has no embedder")
    expect(page.get_by_label("similarity", exact=True)).to_have_attribute(
        "aria-valuetext", ".370, not asked"
    )


def test_what_one_changes_the_other_sees_after_asking_again(
    studio: Service, page_at: Open, owner: str
) -> None:
    reader = page_at(asking(owner), key=studio.key(owner, scope="read"))
    expect(reader.locator(".hit")).to_have_count(2)

    writer = page_at(asking(owner), key=studio.key(owner))
    writer.locator(".hit").filter(has_text="tram").get_by_role("link").click()
    writer.get_by_role("button", name="Invalidate").click()
    writer.get_by_role("dialog").get_by_role("button", name="Invalidate").click()
    writer.get_by_role("button", name="Undo").wait_for()

    expect(reader.locator(".hit")).to_have_count(2)
    reader.get_by_role("button", name="Ask", exact=True).click()
    expect(reader.locator(".hit")).to_have_count(1)
    assert texts(reader) == ["The kitchen has a new blue lamp."]


def test_a_key_that_may_read_sees_no_button_that_changes(
    studio: Service, page_at: Open, owner: str
) -> None:
    page = page_at(asking(owner, half_life=7), key=studio.key(owner, scope="read"))
    page.locator(".hit").first.wait_for()
    assert changing(page) == []
    page.get_by_role("link", name="Judge", exact=True).click()
    page.get_by_text("scope write can judge").wait_for()
    assert changing(page) == []
    page.get_by_role("link", name="Browse").click()
    page.locator(".hit").first.get_by_role("link").click()
    page.get_by_text("This key may read.").wait_for()
    assert changing(page) == []


def test_a_key_stays_until_another_is_given(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(asking(owner), key=studio.key(owner))
    page.locator(".hit").first.wait_for()
    other = page.get_by_role("button", name="Other key")
    other.click()
    page.get_by_label("Key", exact=True).wait_for()
    expect(page.locator(".hit")).to_have_count(2)
    other.click()
    page.get_by_label("Key", exact=True).wait_for(state="detached")
    page.reload()
    expect(page.locator(".hit")).to_have_count(2)

    other.click()
    page.get_by_label("Key", exact=True).fill(studio.key(owner, scope="read"))
    page.get_by_role("button", name="Use this key").click()
    page.get_by_title("This key may read.").wait_for()


def test_a_service_that_went_away_and_came_back(studio: Service, page_at: Open, owner: str) -> None:
    with own_studio(studio, "first") as url:
        page = page_at(f"#ask?owner={owner}", key="first", url=url)
        page.get_by_role("heading", name="Ask a question").wait_for()
    page.get_by_role("searchbox").fill("tram")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The service does not answer").wait_for()

    with own_studio(studio, "second", port=int(url.rpartition(":")[2])):
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("heading", name="This key is not valid").wait_for()
        page.get_by_label("Key", exact=True).fill("second")
        page.get_by_role("button", name="Use this key").click()
        expect(page.locator(".hit").first).to_contain_text("tram")


def test_on_a_telephone_sliders_are_in_a_sheet_below_the_hits(
    studio: Service, page_at: Open, owner: str
) -> None:
    narrow = {"width": 390, "height": 844}
    page = page_at(asking(owner), key=studio.key(owner), viewport=narrow, has_touch=True)
    first = page.locator(".hit").first
    expect(first).to_contain_text("tram")
    slider = page.get_by_label("recency", exact=True)
    expect(slider).to_be_hidden()

    page.get_by_role("button", name="Rank by hybrid").tap()
    expect(slider).to_be_visible()
    set_slider(page, "recency", 0.95)
    expect(first).to_contain_text("lamp")
    expect(first).to_be_in_viewport()  # it is seen while the slider moves
    page.get_by_role("button", name="Rank by hybrid, adjusted").tap()
    expect(slider).to_be_hidden()
    for view in ("Compare", "Judge", "Browse"):
        page.get_by_role("link", name=view, exact=True).tap()
        expect(page.locator("nav [aria-current]")).to_have_text(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


def test_a_team_beside_the_owner_and_filters(studio: Service, page_at: Open, owner: str) -> None:
    team = owner.replace(" ", "_")
    studio.repo.teams.add(team, "The team takes the tram at eight.", metadata={"floor": 3})
    page = page_at(asking(owner, "tram"), key=studio.key(owner, f"team:{team}"))
    expect(page.locator(".hit")).to_have_count(2)
    page.get_by_text("Filters").click()
    page.get_by_label("Teams").fill(team)
    as_json = page.get_by_label("Filter, as JSON")
    as_json.fill("floor: 3")
    as_json.press("Enter")
    assert as_json.evaluate("one => one.validationMessage").startswith("Write a JSON object")
    expect(page.locator(".summary")).to_contain_text(f"3 of 3 memories, with {team}, by hybrid")
    as_json.fill('{"metadata.floor": {"$gte": 3}}')
    as_json.press("Enter")
    expect(page.locator(".summary")).to_contain_text(f"1 of 1 memory, with {team}, by 1 filter")

    hit = page.locator(".hit")
    expect(hit).to_contain_text(f"team:{team}")
    hit.get_by_role("link").click()
    expect(page.locator("article .content")).to_have_text("The team takes the tram at eight.")
    page.get_by_role("heading", name="It is hit 1 for “tram”").wait_for()
    page.get_by_role("button", name="Invalidate").click()
    page.get_by_role("dialog").get_by_role("button", name="Invalidate").click()
    page.get_by_role("button", name="Undo").wait_for()
    assert studio.repo.teams.count(team) == 0

    page.get_by_role("link", name="Judge").click()
    page.get_by_text("Filters").click()
    as_json.fill("")
    as_json.press("Enter")
    expect(page.locator(".hit")).to_have_count(2)


def test_by_keyboard_alone(studio: Service, page_at: Open, owner: str) -> None:
    def tab_to(found: Any) -> None:
        for _ in range(40):
            if found.evaluate("(element) => element === document.activeElement"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no Tab leads to {found}")

    page = page_at(f"#judge?owner={owner}", key=studio.key(owner))
    page.get_by_role("heading", name="Ask a question").wait_for()
    tab_to(page.get_by_role("searchbox"))
    page.keyboard.type("how does Ines get to work?")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    tab_to(page.get_by_role("button", name="Answers", exact=True).first)
    page.keyboard.press("Space")
    page.get_by_text("1 of 2 hits judged").wait_for()

    page.keyboard.press("Shift+Tab")
    tab_to(page.get_by_role("link", name="Ask", exact=True))
    page.keyboard.press("Enter")
    recency = page.get_by_label("recency", exact=True)
    recency.wait_for()
    tab_to(recency)
    page.keyboard.press("End")
    expect(page.locator(".hit").first).to_contain_text("lamp")
    page.get_by_role("searchbox").focus()
    tab_to(page.get_by_role("link", name="Skip to the hits"))
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Is one missing?"
    tab_to(page.locator(".hit").first.get_by_role("link"))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What time does to it").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"

    tab_to(page.get_by_role("link", name="Back to the hits"))
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_contain_text("lamp")  # the slider is where it was
    assert page.evaluate("document.activeElement.id") == "main"
