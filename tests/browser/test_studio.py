"""The studio in a real browser, as a person uses it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest

from pgrecall import NewMemory
from tests.browser.conftest import Open
from tests.integration.serving import Service

QUESTION = "how does Ines get to work?"
_owners = count()


@pytest.fixture
def owner(studio: Service) -> str:
    """An owner with an old memory that answers the question, and a new one that does not."""
    name = f"ines {next(_owners)}"
    now = datetime.now(UTC)
    old = now - timedelta(days=400)
    studio.repo.add(name, NewMemory("Ines takes the tram to get to work.", created_at=old))
    studio.repo.add(name, NewMemory("The kitchen has a new blue lamp.", created_at=now))
    return name


def asking(owner: str, question: str = QUESTION, view: str = "ask", **more: Any) -> str:
    return f"#{view}?{urlencode({'owner': owner, 'q': question, **more})}"


def texts(page: Any) -> list[str]:
    return [one.inner_text() for one in page.locator(".hits .content").all()]


def set_slider(page: Any, name: str, value: float) -> None:
    """Moves a slider as a hand does: the page hears of it while it moves."""
    page.get_by_label(name, exact=True).evaluate(
        "(input, value) => { input.value = value;"
        " input.dispatchEvent(new Event('input', {bubbles: true})); }",
        value,
    )


def test_sliders_rank_anew_and_the_address_keeps_it(
    studio: Service, page_at: Open, owner: str
) -> None:
    key = studio.key(owner, scope="read")
    page = page_at(asking(owner), key=key)
    page.locator(".hit").first.wait_for()
    assert texts(page)[0].startswith("Ines takes the tram")

    set_slider(page, "recency", 0.95)
    page.locator(".hit").first.get_by_text("The kitchen").wait_for()
    page.wait_for_url("**w.recency=0.95*")

    shared = page_at(page.url.partition("/studio")[2], key=key)
    shared.locator(".hit").first.wait_for()
    assert texts(shared)[0].startswith("The kitchen")
    assert shared.locator(".moved.up").first.inner_text().startswith("▲1")
    [memory, *_] = studio.repo.list(owner)
    assert memory.retrieval_count == 0  # looking does not count


def test_without_a_key_it_asks_for_one(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(asking(owner))
    page.get_by_role("heading", name="This service asks for a key").wait_for()

    page.get_by_label("Key", exact=True).fill("pgr_wrong")
    page.get_by_role("button", name="Use this key").click()
    page.get_by_role("heading", name="This key is not valid").wait_for()

    page.get_by_label("Key", exact=True).fill(studio.key(owner))
    page.get_by_role("button", name="Use this key").click()
    page.locator(".hit").first.wait_for()


def test_a_key_in_the_address_leaves_it(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(f"#key={studio.key(owner)}")
    page.get_by_role("heading", name="Ask a question").wait_for()
    assert "key" not in page.url


NAMED = "[...document.querySelectorAll('link[rel=modulepreload]')].map((one) => one.href)"
LOADED = "performance.getEntriesByType('resource').map((one) => one.name)"


def test_the_page_names_each_module_of_its_first_view(
    studio: Service, page_at: Open, owner: str
) -> None:
    page = page_at(asking(owner), key=studio.key(owner))
    page.locator(".hit").first.wait_for()
    loaded = [one for one in page.evaluate(LOADED) if one.endswith(".js")]
    assert sorted(loaded) == sorted(page.evaluate(NAMED))


def test_a_view_that_does_not_load_says_so(studio: Service, page_at: Open, owner: str) -> None:
    page = page_at(asking(owner), key=studio.key(owner))
    page.locator(".hit").first.wait_for()
    page.context.route("**/views/judge.js", lambda route: route.abort())
    page.get_by_role("link", name="Judge").click()
    page.get_by_role("heading", name="This part of the page did not load").wait_for()
    page.context.unroute("**/views/judge.js")
    page.get_by_role("button", name="Load it anew").click()
    page.get_by_role("heading", name="0 judged questions").wait_for()
