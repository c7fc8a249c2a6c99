"""The default count of tokens, beside what the o200k table of tiktoken finds in the same texts."""

from __future__ import annotations

import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.core.tokens import estimated_tokens, tiktoken_counter
from pgrecall.errors import ExtraMissing, InputError
from tests.unit.token_texts import ORDINARY, UNDERCOUNTED

texts = st.text(
    st.one_of(st.sampled_from("aB 7\n\r\t-é中Ж🙂"), st.characters(exclude_categories=["Cs"]))
)


def test_ordinary_text_has_no_fewer_tokens_than_a_tokenizer_finds() -> None:
    for kind, (real, text) in ORDINARY.items():
        assert real <= estimated_tokens(text) <= 1.75 * real, kind
    for kind, (real, text) in UNDERCOUNTED.items():
        assert 0.65 * real <= estimated_tokens(text) < real, kind


COUNTED: list[tuple[str, int]] = [
    *(("", 0), (" ", 0), ("four", 1), ("fives", 2), ("Fives", 1), ("Eights", 2), ("NOT", 1)),
    *(("HTTPServer", 3), ("a b", 2), ("a  b", 3), ("a 1", 3), ("1234", 2), ("<=", 2)),
    *(("\n" + " " * 7, 1), ("\r\n\r\n", 1), ("\t\t", 2), ("für", 3), ("чай", 2), ("茶を", 2)),
    *((" " * 1_600, 200), ("\n" * 1_600, 200)),
]


def test_a_token_is_a_piece_of_a_word_a_few_digits_or_a_sign() -> None:
    assert [(text, estimated_tokens(text)) for text, _ in COUNTED] == COUNTED


@given(texts, texts)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_two_texts_take_up_no_more_together_but_for_a_space_between(one: str, two: str) -> None:
    together = estimated_tokens(one + two)

    assert together <= estimated_tokens(one) + estimated_tokens(two) + 1


RANKS = {bytes([number]): number for number in range(256)}
"""One token for each byte."""


@pytest.fixture
def no_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder for tiktoken's files; to fetch one is an error."""

    def fetched(blobpath: str) -> bytes:
        raise ConnectionError(f"fetched {blobpath}")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tiktoken.load.read_file", fetched)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    return tmp_path


def test_tiktoken_counts_by_an_encoding() -> None:
    """Marks of the model's own as text; what it cannot take whole in parts."""
    count = tiktoken_counter(
        tiktoken.Encoding(
            "bytes",
            pat_str=r"\s+(?!\S)|\s+|\S+",  # as those of OpenAI end
            mergeable_ranks=RANKS,
            special_tokens={"<|endoftext|>": 256},
        )
    )

    counted = {text: count(text) for text in ("tea", "中文", "<|endoftext|>", " " * 1_000_000)}

    assert counted == {"tea": 3, "中文": 6, "<|endoftext|>": 13, " " * 1_000_000: 1_000_000}


def test_an_encoding_that_is_not_at_hand_is_not_fetched(no_download: Path) -> None:
    for name in ("o200k_base", "cl100k_base", "p50k_base", "r50k_base"):
        with pytest.raises(InputError, match=f"encoding {name} is not on this machine.*tiktoken"):
            tiktoken_counter(name)
    with pytest.raises(InputError, match="o200k_base is not on this machine"):
        tiktoken_counter()

    assert list(no_download.iterdir()) == []


def test_an_encoding_at_hand_is_read_from_its_file_which_stays_where_it_is_damaged(
    no_download: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError) as caught:
        tiktoken_counter("o200k_base")
    file = no_download / str(caught.value).split(" under the name ")[1].split(",")[0]
    table = b"".join(b64encode(byte) + b" %d\n" % number for byte, number in RANKS.items())
    file.write_bytes(table)
    with pytest.raises(InputError, match="o200k_base"):
        tiktoken_counter("o200k_base")
    assert file.read_bytes() == table

    monkeypatch.setattr("tiktoken.load.check_hash", lambda data, expected: data == table)
    known = {"o200k_base": sha256(table).hexdigest()}
    monkeypatch.setattr("pgrecall.core.tokens._HASHES", known)
    assert tiktoken_counter("o200k_base")("four") == 4


def test_what_is_no_encoding_is_refused(no_download: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any
    for given, message in (
        ("gpt-4o", r"unknown encoding 'gpt-4o'; known are o200k_base"),
        ("../o200k_base", r"unknown encoding"),
        (None, r"a tiktoken\.Encoding or a name, got NoneType"),
    ):
        with pytest.raises(InputError, match=message):
            tiktoken_counter(given)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'pgrecall\[tiktoken\]'"):
        tiktoken_counter()
