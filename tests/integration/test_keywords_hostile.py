"""Texts and values that mean harm: each gives a result or an InputError and changes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository
from pgrecall.errors import InputError
from tests.integration.owner import north
from tests.integration.support import NORTH, read, sql

AGENT = "agent"
PATIENCE = "5s"
"""Longer than any of these may take, by far."""

WORDS = [
    *("'; DROP TABLE pgrecall.agent_memories; --", "') OR 1=1 --", "$$; SELECT pg_sleep(60); $$"),
    *("\"double\" and 'single' and `back`", "'''''", '"unclosed phrase', '"" "" ""', '-"'),
    "\\ \\\\ \\' \\n \\x00 \\u0000 C:\\path\\'file",
    "%s %(name)s %% % :name ::text $1 ? {curly} {0} {{}}",
    *("a & b | !c <-> d <2> e:*ABCD (f", "& | ! ( ) <-> :* <0> <99999>"),
    *("!!!!!! &&&& |||| (((( ))))", "or OR Or oR", '- -- --- -a --b -"c d" - e'),
    *("a:b:c:d 'x':1A,2B 'y':*", "null NULL true {} [] ,", "\x01\x02\x1b\x1f\x7f\x80\x9f"),
    *("tab\tnew\nline\r\nform\x0cfeed\x0b", "🙂👩\u200d👩\u200d👧🏽🇵🇹 emoji"),
    "שלום \u202eعربى\u202c \u2067x\u2069",
    *("ze\u200bro\u200cwi\u200ddth\ufeff\u2060\u00ad", "\u0301\u0301\u0301 \u0301"),
    "Z\u0351\u036b\u0343a\u0323\u0308l\u034dg\u0321o\u0489",
    "한국어 \u1112\u1161\u11ab\u1100\u1173\u11af 조선",
    *("東京タワー 中文字 ｶﾀｶﾅ ㌀㍿ 𠀀𪛖", "ภาษาไทย नमस्ते தமிழ் বাংলা မြန်မာ ខ្មែរ"),
    *("ﷺ ﷽ ﬃ ½ ² ① ℀ Ⅷ ﬀ", "İIıi ßẞ ǅ Σσς ŉ"),
    "\ufffd\ufffe\uffff\U0010ffff\ue000\U000f0000",
    "<a href='x'>tag</a> &amp; &#x41; <!-- c --> ]]>",
    "http://a.b/c?d=e&f=g#h ftp://x mailto:a@b.c //x/../y",
    "1e309 -1e309 0x10 1,000,000,000,000 999999999999999999999999 .5 5. 1.2.3.4",
    *("x" * 100_000, "東" * 5_000, "ﷺ" * 5_000),
    " or ".join(f"word{number}" for number in range(3_000)),
    " ".join("the" for _ in range(20_000)),
    " ".join(f'"a{number} b"' for number in range(2_000)),
    '"fire ' + "the " * 17_000 + 'rain"',
    *("a-" * 10_000, "1" * 100_000, "<" * 50_000),
]


def named(value: object) -> str:
    return f"{value!a:.30} ({len(value)})" if isinstance(value, str) else type(value).__name__


@pytest.fixture(scope="module")
def impatient(module_url: str) -> Iterator[Engine]:
    """Statements end after a while; cancelling tells it as a DatabaseError."""
    options = {"options": f"-c statement_timeout={PATIENCE}"}
    engine = create_engine(module_url, connect_args=options)
    texts = ("The great fire.", "Rain & word1 word2.", "🙂")
    new = [north(text) for text in texts]
    MemoryRepository(engine).add_many(AGENT, new)
    yield engine
    engine.dispose()


@pytest.fixture
def repo(impatient: Engine) -> MemoryRepository:
    return MemoryRepository(impatient)


@pytest.fixture
def untouched(impatient: Engine) -> Iterator[None]:
    """The tables before and after a test are the same, to the bit."""

    def everything() -> list[Any]:
        return [
            sql(
                impatient,
                f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) "
                f"FROM pgrecall.{table} t",
            )
            for table in ("agent_memories", "memory_usage", "memory_events")
        ]

    before = everything()
    yield
    assert everything() == before


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("text", WORDS, ids=named)
def test_any_text_ranks_every_memory_and_is_a_filter_or_refused(
    repo: MemoryRepository, text: str
) -> None:
    asked: dict[str, Any] = {"keywords": text, "profile": "hybrid"}

    hits = repo.search(AGENT, NORTH, touch=False, **asked)
    try:
        why = repo.explain(
            AGENT, hits[0].memory.id, NORTH, filter={"content": {"$match": text}}, **asked
        )
    except InputError:  # as a filter
        why = repo.explain(AGENT, hits[0].memory.id, NORTH, **asked)

    assert len(hits) == 3
    assert all(0 <= hit.signals["keyword"] <= 1 and 0 <= hit.score <= 1 for hit in hits)
    assert len(why.terms) <= 1_000
    assert why.ranked <= 3


@pytest.mark.usefixtures("untouched")
def test_a_filter_of_many_words_or_dashes_is_harmless(repo: MemoryRepository) -> None:
    for text in (
        *("-" * 40, f"Minutes\n{'-' * 60}\ntea", "- " * 40, "-" * 10_000, "a-1" * 3_333),
        *("a/" * 5_000, '"' * 10_000, "ﷺ" * 10_000, "<a " * 3_333, "1," * 5_000, "a/" * 50_000),
    ):
        with suppress(InputError):
            repo.count(AGENT, filter={"content": {"$match": text}})


@pytest.mark.usefixtures("untouched")
def test_no_text_keeps_the_server_busy(repo: MemoryRepository) -> None:
    for text in (
        "a_" * 50_000,
        "a" + "\u0301" * 11_000 + "\u0316" * 11_000,
        "א" + "\u05bf" * 11_000 + "\u05b0" * 11_000,
    ):
        assert len(repo.search(AGENT, NORTH, keywords=text, profile="hybrid", touch=False)) == 3


@settings(
    deadline=None,
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    text=st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60),
        st.text("a1 -\"'\\&|!():*<>/,.@_東\u0301\u05b0\u200b\t", max_size=40),
    )
)
def test_random_text_is_a_query_a_filter_and_a_content(impatient: Engine, text: str) -> None:
    with impatient.connect() as connection:
        repo = MemoryRepository(connection)
        asked: dict[str, Any] = {"profile": "hybrid", "touch": False, "k": 10}
        if text.strip():
            stored = repo.add("random", north(text))
            [hit] = repo.search("random", keywords=text, **asked)
            assert (hit.memory.id, hit.memory.content) == (stored, text)
            # What has every word of the query has all of the signal.
            why = repo.explain("random", stored, keywords=text, profile="hybrid")
            assert hit.signals["keyword"] == pytest.approx(1 if why.terms else 0)
        assert len(repo.search(AGENT, NORTH, keywords=text, **asked)) == 3
        with suppress(InputError):  # of stop words alone
            assert repo.count(AGENT, filter={"content": {"$match": text}}) <= 3
        connection.rollback()


def hyphenated(alphabet: str, length: int) -> str:
    """Under 100,000 characters of distinct compounds: each is kept whole and in its parts."""
    chance = random.Random(1)
    return " ".join(
        "-".join("".join(chance.choices(alphabet, k=length)) for _ in range(2))
        for _ in range(99_000 // (2 * length + 2))
    )


LARGE: dict[str, Callable[[], str]] = {
    "largest": lambda: "東 " * (2 * 1024 * 1024 // 4 - 1),
    "letters": lambda: hyphenated("abcdefgh", 4),
    "rare signs": lambda: hyphenated("".join(map(chr, range(0x20000, 0x20100))), 8),
    "mathematical": lambda: hyphenated("".join(map(chr, range(0x1D400, 0x1D41A))), 4),
    "ligatures": lambda: hyphenated("\ufdf2\ufdf3\ufdf4\ufdf5\ufdf6\ufdf7\ufdf8", 20),
}


@pytest.mark.parametrize("kind", LARGE)
def test_as_much_text_as_there_is_room_for_can_be_remembered_and_asked_for(
    impatient: Engine, kind: str
) -> None:
    text = LARGE[kind]()
    with impatient.connect() as connection:
        repo = MemoryRepository(connection)

        added = repo.add("large", north(text))
        also = repo.add_many("large", [north(f"{text} too")])

        assert read(repo, "large", added).content == text
        hits = repo.search("large", keywords=text[:300], profile="hybrid", touch=False)
        assert {hit.memory.id for hit in hits} == {added, *also}
        connection.rollback()
