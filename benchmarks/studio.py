"""`make bench-studio`: the studio's page in a browser, for owners of 10,000 and 100,000 memories.

Times are those of the page: from the event of an input to the frame that shows its result; a new
order is there once it is laid out. The service, PostgreSQL and the browser share the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from playwright.sync_api import Browser, Page
from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.browser import chromium, studio
from benchmarks.data import VOCABULARY
from benchmarks.measurement import Measurement, print_table
from benchmarks.server import server
from pgrecall import LocalEmbedder, MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

OWNER, MEMORIES, HITS = "ines", [10_000, 100_000], 300
QUESTIONS = [" ".join(VOCABULARY[n : n + 4]) for n in range(0, 80, 4)]
FIRST_VIEW_BYTES = 300_000
LATENCY = 150

TIMED = """
window.timed = (act, isDone) => new Promise((resolve) => {
  const began = performance.now();
  const look = () => {
    if (!isDone()) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();  // a task after the frame is painted
    port1.onmessage = () => resolve(performance.now() - began);
    port2.postMessage(null);
  };
  act();
  requestAnimationFrame(look);
});
window.hits = () => [...document.querySelectorAll(".hit")].map((hit) => hit.dataset.id).join();
window.chip = (kind) => document.querySelector(`.chip.${kind}`);
window.move = (id, value) => {
  const input = document.getElementById(id);
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
};
"""
SLIDE = """(value) => {
  const output = () => document.querySelector("output[for=weight-recency]").textContent;
  const before = output();
  return timed(() => move("weight-recency", value), () => output() !== before);
}"""
ORDER = """(value) => new Promise((resolve) => requestAnimationFrame(() => {
  const output = () => document.querySelector("output[for=weight-recency]").textContent;
  const before = output();
  const began = performance.now();
  new MutationObserver((_, observer) => {
    if (output() === before) return;
    document.body.getBoundingClientRect();  // lays out what changed
    observer.disconnect();
    resolve(performance.now() - began);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  move("weight-recency", value);
}))"""
ASK = """(question) => {
  const before = hits();
  return timed(() => {
    document.getElementById("q").value = question;
    document.querySelector("form.question").requestSubmit();
  }, () => hits() !== before && !document.querySelector(".hits.stale"));
}"""
BECOME_EXACT = """(value) => new Promise((resolve) => {
  move("weight-recency", value);
  requestAnimationFrame(() => requestAnimationFrame(() => {
    if (chip("exact")) return resolve(null);
    timed(() => {}, () => chip("exact")).then(resolve);
  }));
})"""

WHOLE = """() => document.querySelector(".chip.exact")
  && document.querySelector(".summary span").textContent.includes(" of ")"""
"""The order is exact, and every candidate is there."""


@dataclass
class Traffic:
    """What a page loads."""

    requests: int = 0
    sizes: list[int] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Counts from now on, as the network carries it: compressed, with headers."""
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.loadingFinished", self._finished)

    def _sent(self, _: Any) -> None:
        self.requests += 1

    def _finished(self, event: Any) -> None:
        self.sizes.append(int(event["encodedDataLength"]))


def main(
    rounds: Annotated[int, typer.Option(min=3, help="Of each measurement.")] = 20,
    memories: Annotated[list[int], typer.Option(min=1_000, help="Of an owner.")] = MEMORIES,
) -> None:
    """Measures sliders, questions and the first view."""
    for number in memories:
        with server() as url:
            prepare(url, number)
            with studio(url, "--owner", OWNER) as address, chromium() as browser:
                found = [
                    *first_views(browser, address),
                    *slow_views(browser, address),
                    *questions(browser, address, rounds),
                    *sliders(browser, address, rounds),
                ]
        print_table(Console(), f"the studio, {number:,} memories of one owner", found)


def prepare(url: str, memories: int) -> None:
    """Stores the memories, a year of them."""
    migrate.upgrade(url)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    for begin in range(0, memories, 1_000):
        batch = [_memory(number) for number in range(begin, min(memories, begin + 1_000))]
        repo.add_many(OWNER, batch, duplicates="allow")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    engine.dispose()


def _memory(number: int) -> NewMemory:
    places = (number * 7 + step * step * (1 + number % 5) for step in range(20))
    words = " ".join(VOCABULARY[place % len(VOCABULARY)] for place in places)
    made = datetime.now(UTC) - timedelta(days=number * 37 % 365, seconds=number)
    return NewMemory(f"{words} {number}", created_at=made, importance=number % 11 / 10)


def opened(browser: Browser, address: str, traffic: Traffic | None = None, **values: Any) -> Page:
    """The page with these values, with a key, in a browser that knows nothing of it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    url, _, key = address.partition("#key=")
    context.add_init_script(f"sessionStorage.setItem('pgrecall.key', '{key}');{TIMED}")
    page = context.new_page()
    if traffic:
        traffic.watch(page)
    page.goto(f"{url}#ask?{urlencode({'owner': OWNER, **values})}", wait_until="networkidle")
    page.locator(".hit, .screen").first.wait_for()
    return page


def first_views(browser: Browser, address: str) -> list[Measurement]:
    """Bytes and requests, without a question and with one."""
    found = []
    for what, values in (("first view", {}), ("first view with a question", {"q": QUESTIONS[0]})):
        traffic = Traffic()
        opened(browser, address, traffic, **values).context.close()
        size = sum(traffic.sizes)
        found.append(Measurement(f"{what}: bytes", size, "", FIRST_VIEW_BYTES))
        found.append(Measurement("  requests", traffic.requests, ""))
    return found


def slow_views(browser: Browser, address: str) -> list[Measurement]:
    """From the address to the drawn view, where each request takes so long; then once more, in a
    browser that has kept the files."""
    context = browser.new_context()
    url, _, key = address.partition("#key=")
    context.add_init_script(f"sessionStorage.setItem('pgrecall.key', '{key}');{TIMED}")
    slow = {"offline": False, "latency": LATENCY, "downloadThroughput": -1, "uploadThroughput": -1}
    found = []
    for what in (f"first view, {LATENCY} ms for each request", "  once more"):
        page = context.new_page()
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
        page.goto(f"{url}#ask?owner={OWNER}", wait_until="commit")
        drawn = "timed(() => {}, () => document.querySelector('.screen'))"
        taken = page.evaluate(f"{drawn}.then(() => performance.now())")
        found.append(Measurement(what, taken, "ms"))
        page.close()
    context.close()
    return found


def questions(browser: Browser, address: str, rounds: int) -> list[Measurement]:
    """From Enter to hits that are drawn."""
    page = opened(browser, address, q=QUESTIONS[0])

    def ask(turn: int) -> float:
        taken: float = page.evaluate(ASK, QUESTIONS[(turn + 1) % len(QUESTIONS)])
        page.wait_for_function(WHOLE)
        return taken

    times = repeated(ask, rounds)
    page.context.close()
    return timed("question to drawn hits", times, 150)


def sliders(browser: Browser, address: str, rounds: int) -> list[Measurement]:
    """From a slider's move to the new order, and to the exact one where it was approximate."""
    page = opened(browser, address, q=QUESTIONS[1], k=HITS)
    page.wait_for_function(WHOLE)
    slid, seen = (
        repeated(lambda turn: page.evaluate(what, 0.01 + 0.03 * (turn % 20)), rounds)  # noqa: B023
        for what in (ORDER, SLIDE)
    )
    page.context.close()

    page = opened(browser, address, q=QUESTIONS[2])
    page.wait_for_function(WHOLE)
    exact: list[float] = []
    for turn in range(rounds):
        taken = page.evaluate(BECOME_EXACT, (0.9, 0.004, 0.5, 0.2)[turn % 4])
        page.wait_for_function(WHOLE)
        exact += [] if taken is None else [taken]
    page.context.close()
    return [
        *timed(f"slider to new order, {HITS} hits", slid, 16),
        Measurement("  until a frame shows it", median(seen), "ms"),
        *timed("approximate to exact", exact, 300),
        Measurement("  moves that were exact at once", rounds - len(exact), ""),
    ]


def repeated(act: Callable[[int], float], rounds: int) -> list[float]:
    """The times of one act after the other, but of the first two: these warm up."""
    return [act(turn) for turn in range(rounds + 2)][2:]


def timed(what: str, times: Sequence[float], goal: float) -> list[Measurement]:
    """The median beside its goal, and the slowest; nothing where nothing was timed."""
    if not times:
        return []
    return [
        Measurement(what, median(times), "ms", goal),
        Measurement("  slowest", max(times), "ms"),
    ]


if __name__ == "__main__":
    typer.run(main)
