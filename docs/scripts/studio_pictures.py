"""`make pictures`: pictures of the studio's views, with the demo's memories.

All of them are written into build/pictures, to be looked at: each view in light and dark, on a
screen and on a telephone. Those that pages show are written into docs/pictures, too.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from shutil import copyfile
from typing import Literal
from urllib.parse import urlencode

from benchmarks.server import server
from docs.scripts.browser import chromium, studio
from playwright.sync_api import Browser, Page
from rich.console import Console
from sqlalchemy import create_engine

from pgrecall import LocalEmbedder, MemoryRepository, NewMemory, migrate
from pgrecall.cli import demo
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import DEFAULT

ROOT = Path(__file__).parents[2]
ALL, SHOWN = ROOT / "build" / "pictures", ROOT / "docs" / "pictures"
PAGES_SHOW = ("adjusted-light-1440", "compare-light-1440", "memory-light-1440")
MOST_BYTES = 120_000
QUALITY = 82
SIZES = {1440: 900, 390: 844}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
QUESTION = demo.QUERIES[0]
JUDGED = (*demo.QUERIES[:3], "who is on call when something breaks?")


def main() -> None:
    """Makes all pictures."""
    console = Console()
    for folder in (ALL, SHOWN):
        folder.mkdir(parents=True, exist_ok=True)
    with server() as url:
        views = prepare(url)
        with studio(url, "--owner", demo.AGENT) as address, chromium() as browser:
            picture(browser, address, views["ask"], 1440, "light")  # the first question is slower
            for (width, scheme), (name, view) in product(product(SIZES, SCHEMES), views.items()):
                file = ALL / f"{name}-{scheme}-{width}.webp"
                file.write_bytes(picture(browser, address, view, width, scheme))
                console.print(f"{file.stat().st_size:>9,} bytes  {file.relative_to(ROOT)}")
    for name in PAGES_SHOW:
        file = ALL / f"{name}.webp"
        assert file.stat().st_size <= MOST_BYTES, f"{name} is too large for a page"
        copyfile(file, SHOWN / file.name)


def prepare(url: str) -> Mapping[str, str]:
    """Stores what is shown; returns the address of each view, behind #."""
    migrate.upgrade(url)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    demo.store(repo)
    for question in JUDGED:
        hits = repo.search(demo.AGENT, question, touch=False)
        repo.evaluation.judge(demo.AGENT, hits[0].memory.id, question)
    hits = repo.search(demo.AGENT, QUESTION, k=30, touch=False)
    memory = hits[12].memory
    repo.links.add(demo.AGENT, memory.id, hits[0].memory.id, "about")
    old = NewMemory("The release day is Wednesday.")
    repo.supersede(demo.AGENT, repo.add(demo.AGENT, old), "The release day is Thursday.")
    engine.dispose()
    asked = {"owner": demo.AGENT, "q": QUESTION}
    weights = {f"w.{name}": share for name, share in _fresher(0.2).items()}
    return {
        "welcome": f"ask?{urlencode({'owner': demo.AGENT})}",
        "ask": f"ask?{urlencode(asked)}",
        "adjusted": f"ask?{urlencode({**asked, **weights, 'half_life': 30})}",
        "compare": f"compare?{urlencode({**asked, 'profile': 'hybrid', 'with': 'five_factor'})}",
        "memory": f"memory/{memory.id}?{urlencode(asked)}",
        "judge": f"judge?{urlencode(asked)}",
        "browse": f"browse?{urlencode({'owner': demo.AGENT})}",
    }


def _fresher(recency: float) -> Mapping[str, float]:
    """The weights of the default once the slider of recency is there."""
    weights = {name: signal["weight"] for name, signal in as_values(DEFAULT)["signals"].items()}
    others = sum(weights.values()) - weights["recency"]
    shares = {name: weight * (1 - recency) / others for name, weight in weights.items()}
    return {name: round(share, 4) for name, share in {**shares, "recency": recency}.items()}


def picture(
    browser: Browser, address: str, view: str, width: int, scheme: Literal["light", "dark"]
) -> bytes:
    """One view as WebP, which Playwright's own pictures cannot be."""
    page = browser.new_page(
        viewport={"width": width, "height": SIZES[width]},
        color_scheme=scheme,
        reduced_motion="reduce",
        locale="en-GB",
    )
    page_url, _, key = address.partition("#key=")
    page.add_init_script(f"sessionStorage.setItem('pgrecall.key', '{key}')")
    page.goto(f"{page_url}#{view}", wait_until="networkidle")
    _settle(page, view)
    taken = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
    )
    page.close()
    return b64decode(taken["data"])


def _settle(page: Page, view: str) -> None:
    """Waits until what the view asks the service for is drawn."""
    drawn = page.locator("main .hit, main .panel, main .screen")
    drawn.filter(visible=True).first.wait_for()
    if "q=" in view and view.startswith("ask"):
        page.locator(".chip.exact").wait_for()


if __name__ == "__main__":
    main()
