"""Hostile texts in every field that the page shows, and addresses that nobody would type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pgrecall import Attribute, NewMemory, Profile, Recency, Similarity
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.migrate.repeatable import install
from pgrecall.testing import new_database
from tests.browser.conftest import Open
from tests.browser.test_studio import asking
from tests.integration.serving import Service, service_on

ATTACK = (
    "<img src=x onerror=\"document.title='taken'\">'\"><script>document.title='taken'</script>"
    "${document.title='taken'}"
)
OWNER = f"{ATTACK[:150]} &owner=bob#"
PART = "#studio"
NAMED_AS_OBJECTS_ARE = ("constructor", "__proto__", "toString", "hasOwnProperty")
"""Names that every object of JavaScript has, though nobody gave it them."""


def every_view(memory: object) -> list[str]:
    return ["ask", "compare", "judge", "browse", f"memory/{memory}"]


def load(page: Any, address: str) -> None:
    """Opens it anew, and waits until nothing is asked any more."""
    page.goto(address.partition("#")[0] + "/icon.svg")
    page.goto(address)
    page.wait_for_load_state("networkidle")


def unharmed(page: Any) -> None:
    """No text became a part of the page, and no number is none."""
    assert "taken" not in page.evaluate("document.title.replace(/=.taken/g, '')")
    assert page.locator(f"{PART} img, {PART} script, {PART} [onerror]").count() == 0
    seen = page.locator("main").inner_text()
    assert not {"NaN", "undefined", "[object", "[native"} & {*seen.split()}, seen


def test_hostile_texts_stay_texts_in_every_field(studio: Service, page_at: Open) -> None:
    repo, text = studio.repo, ATTACK
    first, second = (
        repo.add(
            OWNER,
            NewMemory(
                f"tram {number} {text}",
                memory_type=text,
                additional_types=[*NAMED_AS_OBJECTS_ARE],
                tags=[text, *NAMED_AS_OBJECTS_ARE],
                entities=[text],
                subject=text,
                session=text,
                key=f"{text} {number}",
                domain=text,
                category=text,
                metadata={text: text, "__proto__": {"taken": True}},
            ),
            actor=text,
            run=text,
        )
        for number in (1, 2)
    )
    repo.links.add(OWNER, first, second, text)
    repo.update(OWNER, first, tags=[f"{text}2"], reason=text, actor=text)
    repo.evaluation.judge(OWNER, first, f"{text} tram", answers=True, actor=text)
    repo.supersede(OWNER, second, f"{text} ferry", reason=text)
    page = page_at(key=studio.key(OWNER, scope="maintain"))
    for view in every_view(first):
        load(page, f"{studio.url}/studio{asking(OWNER, f'{text} tram', view)}")
        page.get_by_text("<img src=x").first.wait_for()
        unharmed(page)
    assert page.evaluate("({}).taken") is None
    for shown in ("tram 2", "judged"):
        assert page.get_by_text(shown).count()


@pytest.fixture
def alone(server_url: str, local_template: str) -> Iterator[Service]:
    """A service whose installed profiles no other test sees."""
    with (
        new_database(server_url, local_template) as url,
        service_on(url, LocalEmbedder()) as service,
    ):
        yield service


def test_profiles_of_hostile_names_are_shown_and_rank(alone: Service, page_at: Open) -> None:
    given = Profile(
        "odd",
        {
            Similarity(): 0.5,
            Attribute(name="constructor", metadata="__proto__.constructor"): 0.25,
            Recency(
                half_life=20,
                half_lives_by_type=((ATTACK, 1), ("__proto__", 2), ("constructor", 3)),
            ): 0.25,
        },
    )
    kinds = [*NAMED_AS_OBJECTS_ARE, "valueOf"]
    memories = [
        alone.repo.add("odd", NewMemory(f"The tram of {kind}.", memory_type=kind)) for kind in kinds
    ]
    engine: Any = alone.repo._bind
    with engine.begin() as connection:
        install(connection, "pgrecall", given)
    page = page_at(url=alone.url, key=alone.key("odd", scope="maintain"))
    for view in (*every_view(memories[0]), *(f"memory/{memory}" for memory in memories[1:])):
        load(page, f"{alone.url}/studio{asking('odd', 'tram', view, profile='odd')}")
        page.locator("main h2, .hit, main table").first.wait_for()
        unharmed(page)
    load(page, f"{alone.url}/studio{asking('odd', 'tram', profile='odd')}")
    page.locator(".hit").first.wait_for()
    for bar in page.locator(".bar").all():
        assert "var(--signal-constructor)" not in (bar.get_attribute("style") or "")


ADDRESSES = (
    "#memory/%",
    "#memory/%E0%A4%A?q=tram",
    "#memory/..%2F..%2Fkey?q=tram",
    "#key=%",
    "#ask?as_of=garbage&q=tram",
    "#ask?as_of=999999-99-99&q=tram",
    "#ask?half_life=-5&q=tram",
    "#ask?half_life=1e999&q=tram",
    "#ask?k=-1e9&q=tram",
    "#ask?w.similarity=x&w.keyword=NaN&q=tram",
    "#ask?w.similarity=1e308&w.__proto__=1&q=tram",
    "#ask?__proto__=1&constructor=2&toString=3&q=tram",
    "#ask?profile=__proto__&q=tram",
    "#ask?types=constructor&teams=__proto__&q=tram",
    "#ask?types=,&trust=x&q=tram",
    *(f"#ask?filter={one}&q=tram" for one in ("{", "[]", '{"__proto__":1}', '{"$and":[{}]}')),
    "#constructor?q=tram",
    "#browse?after=%00&status=x&q=%00",
    "#ask?created_after=x&after=x&before=y&q=tram",
    "#compare?a=__proto__&b=constructor&q=tram",
    "#judge?q=%ED%A0%80",
)


def test_any_address_leads_to_a_page(studio: Service, page_at: Open) -> None:
    """With a word of what is wrong, and a way out."""
    studio.repo.add("wild", "The tram.")
    page = page_at(key=studio.key("wild"))
    for address in ADDRESSES:
        load(page, f"{studio.url}/studio{address}")
        page.get_by_role("navigation", name="Views").wait_for()
        assert page.locator("main").inner_text().strip(), address
        unharmed(page)
