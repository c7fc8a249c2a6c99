"""What the page asks for a question, and for a slider whose order it cannot prove."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import pytest

from pgrecall import NewMemory, profiles
from tests.browser.conftest import Open
from tests.browser.test_studio import asking, set_slider, texts
from tests.integration.serving import Service

QUESTION = "which tram does Ines take?"
MEMORIES = 400
EQUAL = {"similarity": 0.4, "importance": 0.2, "confidence": 0.2, "recency": 0.2}
"""Signals of which no memory has much together, though some have much of each: beyond the bound."""


class Held:
    """Requests for candidates, each of which waits until it is let go."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.routes: list[Any] = []
        page.route("**/candidates?*", lambda route: self.routes.append(route))

    def next(self) -> tuple[Any, bool]:
        """The next one, and whether it is for those by each signal."""
        for _ in range(6_000):
            if self.routes:
                break
            self._page.wait_for_timeout(5)
        route = self.routes.pop(0)
        return route, route.request.post_data_json["by_signal"]


@pytest.fixture
def owner(studio: Service) -> str:
    dice, now = Random(3), datetime.now(UTC)
    memories = [
        NewMemory(
            f"Ines and the tram of line {number}.",
            importance=dice.random(),
            confidence=dice.random(),
            created_at=now - timedelta(days=400 * dice.random()),
        )
        for number in range(MEMORIES)
    ]
    studio.repo.add_many("asking", memories, duplicates="allow")
    return "asking"


def found_by(studio: Service, owner: str, page: Any) -> list[str]:
    """What a search finds by the weights in the page's address."""
    values = dict(parse_qsl(page.url.partition("?")[2]))
    weights = {name: float(values.get(f"w.{name}", 0)) for name in profiles.hybrid.weights}
    hits = studio.repo.search(owner, QUESTION, weights=weights, profile="hybrid", touch=False)
    return [hit.memory.content for hit in hits]


def test_hits_come_first_and_one_more_request_makes_an_order_exact(
    studio: Service, page_at: Open, owner: str
) -> None:
    page = page_at(f"#browse?owner={owner}", key=studio.key(owner, scope="read"))
    page.locator("nav a").first.wait_for()
    held = Held(page)
    weights: dict[str, Any] = {f"w.{name}": EQUAL.get(name, 0) for name in profiles.hybrid.weights}
    page.evaluate("to => { location.hash = to; }", asking(owner, QUESTION, **weights))
    first, by_signal = held.next()
    assert not by_signal
    first.continue_()
    page.locator(".hit").first.wait_for()
    assert texts(page) == found_by(studio, owner, page)
    assert page.locator(".chip.exact").count() == 1
    assert page.locator(".summary").inner_text().startswith("10 memories, by")

    every, by_signal = held.next()
    assert by_signal
    every.continue_()
    counted = page.locator(".summary", has_text=f"10 of {MEMORIES} memories, by")
    counted.wait_for()
    assert not held.routes

    set_slider(page, "importance", 0.35)
    best, by_signal = held.next()
    assert not by_signal
    assert page.locator(".chip.approximate").count() == 1
    page.wait_for_url("**w.importance=0.35*")  # which must not ask anew
    best.continue_()
    page.locator(".chip.exact").wait_for()
    assert texts(page) == found_by(studio, owner, page)
    assert counted.count() == 1
    assert not held.routes

    set_slider(page, "similarity", 1.0)
    assert page.locator(".chip.exact").count() == 1  # without asking
    page.wait_for_url("**w.similarity=1*")
    assert texts(page) == found_by(studio, owner, page)
    assert not held.routes
