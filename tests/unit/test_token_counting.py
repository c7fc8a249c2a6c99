"""The default count of tokens, beside what the o200k table of tiktoken finds in the same texts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.core.tokens import estimated_tokens
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
