"""A browser, and a page of it at the studio of a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import which
from typing import Any, NoReturn

import pytest

from pgrecall import AsyncMemoryRepository
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.service.application import create_app
from pgrecall.service.service_settings import ServiceSettings
from pgrecall.testing import new_database
from tests.integration.serving import Service, service_on, serving
from tests.node import IN_CI

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OWN_KEY = "of this run"
Open = Callable[..., Any]


def _missing(what: str) -> NoReturn:
    """Without a browser, CI fails; others skip."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Not for the whole session: while Playwright is open, an event loop runs in this process."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed: pip install playwright")
    program = next(filter(None, map(which, PROGRAMS)), None)
    if program is None:
        _missing("no browser is installed: apt install chromium")
    with sync_playwright() as playwright:
        # As root, in a container, Chromium has no sandbox of its own.
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def studio(server_url: str, local_template: str) -> Iterator[Service]:
    """A service with keys, whose page these tests open; each test has owners of its own."""
    with (
        new_database(server_url, local_template) as url,
        service_on(url, LocalEmbedder()) as service,
    ):
        yield service


@contextmanager
def own_studio(studio: Service, key: str, port: int = 0) -> Iterator[str]:
    """The address of what `pgrecall studio` serves on the same database: as the schema's owner,
    with a key of this run, and here without an embedder."""
    settings = ServiceSettings(database_url=studio.database_url, keyed=False, run_key=key)
    with serving(create_app(settings, AsyncMemoryRepository), port) as url:
        yield url


@pytest.fixture(scope="session")
def own(studio: Service) -> Iterator[str]:
    with own_studio(studio, OWN_KEY) as url:
        yield url


@pytest.fixture
def page_at(browser: Any, studio: Service) -> Iterator[Open]:
    """Opens the page at an address behind #, with a key. Errors of the page fail the test."""
    contexts, wrong = [], []

    def opened(
        address: str = "", *, key: str | None = None, url: str = studio.url, **options: Any
    ) -> Any:
        given = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**{**given, **options})
        contexts.append(context)
        if key is not None:
            context.add_init_script(f"sessionStorage.setItem('pgrecall.key', '{key}')")
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{url}/studio{address}")
        return page

    yield opened
    for one in contexts:
        one.close()
    assert wrong == []
