"""What sliders found is taken along: as a profile in the database, or as text that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pgrecall.migrate.installing import installed
from pgrecall.scoring import profile_file
from tests.browser.conftest import OWN_KEY, Open
from tests.browser.test_studio import asking, owner, texts
from tests.integration.serving import Service

__all__ = ["owner"]
QUESTION = "what's Ines' way to work?"


def test_a_profile_is_saved_and_ranks_from_then_on(
    studio: Service, page_at: Open, own: str, owner: str
) -> None:
    page = page_at(asking(owner, half_life=7), key=OWN_KEY, url=own)
    page.locator(".hit").first.wait_for()
    signals = page.locator(".sliders label").all_inner_texts()
    expect(page.locator("output[for=half-life]")).to_have_text("90 d → 7 d")
    page.get_by_label("Save as profile").fill("fresher")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("combobox", name="Profile", exact=True)).to_have_value("fresher")
    expect(page.locator(".summary")).to_contain_text("by fresher")
    expect(page.get_by_label("half-life")).to_have_attribute("aria-valuetext", "7 d")
    assert "half_life" not in page.url  # it is the profile's own now
    assert page.locator(".sliders label").all_inner_texts() == signals
    engine: Any = studio.repo._bind
    with engine.connect() as connection:
        [saved] = [one for one in installed(connection, "pgrecall") if one["name"] == "fresher"]
    assert saved["signals"]["recency"]["half_life"] == 7

    done = page.get_by_text("Saved as fresher.")
    done.wait_for()
    page.get_by_label("half-life").press("ArrowLeft")
    page.get_by_label("Save as profile").fill("fresher")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("There is a profile fresher").wait_for()
    page.wait_for_url("**half_life=*")
    done.wait_for(state="detached")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_label("Save as profile")).to_have_count(0)
    assert done.count() == 0  # it does not come back
    with engine.connect() as connection:
        assert saved in installed(connection, "pgrecall")

    page.get_by_label("half-life").press("ArrowLeft")
    page.get_by_label("Save as profile").fill("fresher")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Replace it").click()
    done.wait_for()
    with engine.connect() as connection:
        assert saved not in installed(connection, "pgrecall")


@pytest.fixture
def copied(studio: Service, page_at: Open, owner: str) -> Any:
    """A page with another half-life, and what a button of it puts into the clipboard."""
    page = page_at(
        asking(owner, QUESTION, half_life=7),
        key=studio.key(owner),
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.locator(".hit").first.wait_for()

    def copy(kind: str) -> str:
        page.get_by_role("button", name=kind, exact=True).click()
        expect(page.locator("[aria-live]")).to_have_text(f"Copied as {kind}.")
        text = str(page.evaluate("navigator.clipboard.readText()"))
        assert page.get_by_label(f"As {kind}").inner_text().strip() == text.strip()
        return text

    return page, copy


def test_what_is_copied_loads_and_runs(
    studio: Service, copied: Any, owner: str, tmp_path: Path
) -> None:
    page, copy = copied
    file = tmp_path / "adjusted.toml"
    file.write_text(copy("TOML"), encoding="utf-8")
    loaded = profile_file.load(file)
    assert loaded.name == "hybrid_adjusted"
    assert profile_file.as_values(loaded)["signals"]["recency"]["half_life"] == 7

    found: dict[str, Any] = {"repo": studio.repo, "agent_id": owner, "query": QUESTION}
    exec(copy("Python"), found)
    assert found["profile"] == loaded
    assert [hit.memory.content for hit in found["hits"]] == texts(page)

    engine: Any = studio.repo._bind
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(copy("SQL")).all()
    assert {content for _, content in rows} == set(texts(page))
