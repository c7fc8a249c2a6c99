"""What the studio advises is what happens, and what it did it says."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest

from pgrecall import NewMemory
from tests.browser.conftest import Open
from tests.browser.test_studio import QUESTION, asking, owner, set_slider
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
    assert "brings it in" in page.get_by_text("No weight of").inner_text()
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
