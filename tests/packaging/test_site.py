"""The documentation site: built strictly, and read without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.node import node

ROOT = Path(__file__).parents[2]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Tags by which a page loads something → the attribute that says what."""
OUTSIDE = re.compile(r"^(https?:)?//")


class Loaded(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(FETCHED.get(tag, ""))
        if address:
            self.addresses.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*mkdocs, "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # Material for MkDocs' own
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_pages_and_styles_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    loaded: list[str] = []
    for page in pages:
        parser = Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.addresses, page
        loaded += parser.addresses
    for style in site.rglob("*.css"):
        loaded += re.findall(r"""url\(["']?([^)"']+)""", style.read_text(encoding="utf-8"))

    assert len(pages) > 50
    assert [address for address in loaded if OUTSIDE.match(address)] == []


def test_the_reference_has_full_signatures(site: Path) -> None:
    page = (site / "reference" / "repository.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", page)

    assert "min_relevance: float | None = None" in text, "of search, written out"
    assert "tables" not in re.findall(r"\n(\w+)[:,]", text), "operations take them, methods do not"
    parts = "pgrecall.execution.repositories"
    for name in ("search", "add_many"):
        assert f'id="pgrecall.MemoryRepository.{name}"' in page
    for name in ("Maintenance.run", "RankIndexes.build", "Links.add"):
        assert f'id="{parts}.{name}"' in page


ANSWERS = {
    "async": "tasks.html#use-asyncio-or-a-transaction-of-your-own",
    "csv": "moving.html",
    "delete user": "tasks.html#delete-a-memory-or-a-user-for-good",
    "erase": "gdpr.html#erase",
    "extract": "extracting.html",
    "fastapi": "fastapi.html",
    "foreign key": "own-tables.html#a-foreign-key",
    "gdpr": "gdpr.html",
    "jupyter": "notebooks.html",
    "langgraph": "frameworks.html",
    "locomo": "benchmarks.html#published-data-sets",
    "multi-tenant": "tenants.html",
    "notebook": "notebooks.html",
    "rerank": "tasks.html#rerank-with-a-model-of-yours",
    "cross-encoder": "tasks.html#rerank-with-a-model-of-yours",
    "pgvectorscale": "benchmarks.html#beside-other-vector-indexes",
    "retry": "tasks.html#catch-errors-and-retry",
    "rls": "tenants.html",
    "stdin": "moving.html",
    "slider": "studio.html",
    "tenant": "tenants.html",
    "top_k": "tasks.html#choose-how-many-hits",
    "typescript": "typescript.html",
    "timeout": "operations.html",
    "user_id": "tenants.html#an-owner-for-each-user_id",
}
"""What people search for → the page, or the place on it, that a search should find first."""


def test_a_search_finds_how_to_do_something_before_decisions(site: Path) -> None:
    script = Path(__file__).parent / "site_search.js"
    done = subprocess.run(
        [str(node()), str(script), str(site), *ANSWERS], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)

    first = {words: pages[0][0] if pages else "" for words, pages in found.items()}
    assert {words: one for words, one in first.items() if not one.startswith(ANSWERS[words])} == {}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_of_pages_beside_docs_lead_to_files(name: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text(encoding="utf-8"))

    assert [link for link in links if not OUTSIDE.match(link) and not (ROOT / link).exists()] == []
    assert links
