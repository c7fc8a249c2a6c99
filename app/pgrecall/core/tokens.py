"""Token counters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError

TokenCounter = Callable[[str], int]
"""A function from a text to its number of tokens."""

PIECES = "|".join(
    (
        "[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}",
        "[0-9]{1,2}",
        r"[\u0370-\u1fff]{1,2}",  # Greek, Cyrillic, Hebrew, Arabic, the scripts of India …
        r"[\r\n][ \t\r\n]{0,7}",  # a line break and the indent after it
        " {2,8}| (?=[0-9])",  # one space belongs to the word after it, but not to a number
        r"[^ A-Za-z0-9\r\n\u0370-\u1fff]",
    )
)
"""Regular expression of one estimated token, used in Python and SQL. Its alternatives begin with
different characters (except for spaces), so their order does not matter."""
MAX_TOKENS = 2**31 - 1

_PIECES = re.compile(PIECES)


def estimated_tokens(text: str) -> int:
    """Estimates the tokens of a text, in linear time and without tables; rather too many.

    One token is four Latin letters, two digits, one sign, two letters of most other alphabets, or
    one Chinese, Japanese or Korean character. Compared with o200k_base of tiktoken, the estimate is
    1.2 to 1.6 times as high for English and German, 1.4 to 1.6 for code, 1.1 for hexadecimal digits
    and UUIDs, but only 0.7 for base64 and emoji. If you need the exact number, use your model's
    tokenizer.
    """
    return len(_PIECES.findall(text))


def require_counter(counter: object) -> TokenCounter:
    """Raises InputError for what cannot be called."""
    if not callable(counter):
        raise InputError(
            "token_counter must be a function from a text to a number, "
            f"got {type(counter).__name__}"
        )
    return counter


def counted(counter: TokenCounter, texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text; raises InputError if the counter returns anything else."""
    numbers = []
    for text in texts:
        number = counter(text)
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(
                f"the token counter must return a whole number, got {shortened(number)}"
            )
        if not 0 <= number <= MAX_TOKENS:
            raise InputError(
                f"the token counter must return 0 to {MAX_TOKENS:,} tokens, got {shortened(number)}"
            )
        numbers.append(number)
    return numbers
