"""Profiles that are installed are there to choose, and what sliders found is taken along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pgrecall.migrate.repeatable import install
from pgrecall.scoring import profile_file, profiles
from tests.browser.conftest import Open
from tests.browser.test_studio import asking, owner, texts
from tests.integration.serving import Service

__all__ = ["owner"]
QUESTION = "what's Ines' way to work?"


def test_an_installed_profile_is_chosen_and_ranks(
    studio: Service, page_at: Open, owner: str
) -> None:
    engine: Any = studio.repo._bind
    with engine.begin() as connection:
        install(connection, "pgrecall", profiles.hybrid.with_half_life(7).renamed("fresher"))
    page = page_at(asking(owner), key=studio.key(owner))
    page.locator(".hit").first.wait_for()
    signals = page.locator(".sliders label").all_inner_texts()
    page.get_by_role("combobox", name="Profile", exact=True).select_option("fresher")
    expect(page.locator(".summary")).to_contain_text("by fresher")
    expect(page.get_by_label("half-life")).to_have_attribute("aria-valuetext", "7 d")
    assert page.locator(".sliders label").all_inner_texts() == signals


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
