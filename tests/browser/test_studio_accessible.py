"""The studio's views by the rules of axe: nothing serious, in light and dark, on two screens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from pgrecall import NewMemory
from tests.browser.conftest import Open
from tests.browser.test_studio import QUESTION, asking
from tests.integration.serving import Service

SCREENS = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIEWS = ("welcome", "ask", "adjusted", "compare", "memory", "judge", "browse")
OWNER = "ines of axe"


@pytest.fixture(scope="module")
def addresses(studio: Service) -> dict[str, str]:
    """An owner whose memories have all that a view can show of them."""
    repo = studio.repo
    made = datetime.now(UTC) - timedelta(days=400)
    ids = [
        repo.add(
            OWNER, NewMemory(f"Ines takes tram {number} to work.", created_at=made, tags=["a"])
        )
        for number in range(12)
    ]
    repo.links.add(OWNER, ids[0], ids[1], "contrast")
    repo.evaluation.judge(OWNER, ids[0], QUESTION)
    repo.evaluation.judge(OWNER, ids[1], QUESTION, answers=False)
    repo.supersede(OWNER, ids[2], "Ines cycles to work.", reason="she moved", actor="ada")
    away = repo.add(OWNER, "Nora bakes bread on Sundays.", requires_approval=True)
    plain = f"owner={OWNER}"
    return {
        "welcome": f"#ask?{plain}",
        "ask": asking(OWNER),
        "adjusted": asking(OWNER, half_life=7, sought=away, tags="a"),
        "compare": asking(OWNER, view="compare", **{"with": "five_factor"}),
        "memory": asking(OWNER, view=f"memory/{ids[0]}", k=2),
        "judge": asking(OWNER, view="judge"),
        "browse": f"#browse?{plain}",
    }


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_stands_in_the_way(
    studio: Service, page_at: Open, addresses: dict[str, str], view: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = page_at(addresses[view], key=studio.key(OWNER, scope="maintain"))
    page.locator("main .hit, main .panel, main .screen").filter(visible=True).first.wait_for()
    page.wait_for_load_state("networkidle")
    for summary in page.locator("details:not([open]) > summary").filter(visible=True).all():
        summary.click()
    found: list[Any] = []
    for scheme, screen in zip(SCHEMES, SCREENS, strict=True):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(screen)
        for one in Axe().run(page).response["violations"]:
            if one["impact"] in ("serious", "critical"):
                where = [
                    node["html"][:200] + " | " + node["failureSummary"] for node in one["nodes"]
                ]
                found.append((scheme, screen["width"], one["id"], where[:3]))
    assert found == []
