"""`python -m benchmarks.context.tokens`: what the default counter finds, and what markers take up.

Beside tiktoken, whose tables must be on disk (TIKTOKEN_CACHE_DIR).
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import tiktoken
import typer
from rich.console import Console
from rich.table import Table
from tests.unit.token_texts import ORDINARY, UNDERCOUNTED

from pgrecall import Memory
from pgrecall.context.styles import STYLES, Style, marked
from pgrecall.core.resources import demo_memories
from pgrecall.core.tokens import TokenCounter, estimated_tokens

ROOT = Path(__file__).parents[2]
MEMORIES, SIZES, DRAWS, GOAL = 10, range(36, 45), 300, 0.25
BLANK_LINES = re.compile(r"\n\s*\n")


def main(
    passages: Annotated[
        Path | None, typer.Option(help="English, one JSON object with `content` a line, gzipped.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="An encoding of tiktoken.")] = "o200k_base",
    seed: int = 0,
) -> None:
    """Compares the default counter with a tokenizer, and measures what styles add to memories."""
    chance, encoder = random.Random(seed), tiktoken.get_encoding(encoding)

    def real(text: str) -> int:
        return len(encoder.encode(text, disallowed_special=()))

    demo = [json.loads(line) for line in demo_memories().read_text().splitlines()]
    console = Console()
    table = Table(title=f"tokens by default / by {encoding}", title_justify="left")
    for column in ("", "texts", "characters a token", "all", "least", "too few"):
        table.add_column(column, justify="right" if column else "left")
    for kind, texts in kinds(chance, demo, passages).items():
        table.add_row(kind, *compared(texts, real))
    console.print(table)
    table = Table(title=f"{MEMORIES} memories of {SIZES[0]} to {SIZES[-1]} tokens, by {encoding}")
    for column in ("", "added, mean", "most", f"goal ≤ {GOAL:.0%}", "by default"):
        table.add_column(column, justify="right" if column else "left")
    fitting = [one for one in demo if real(one["content"]) in SIZES]
    for style in STYLES.values():
        shares = [added(style, chance, fitting, real) for _ in range(DRAWS)]
        estimated = [added(style, chance, fitting, estimated_tokens) for _ in range(DRAWS)]
        mean = statistics.mean(shares)
        table.add_row(
            *(style.name, f"{mean:.1%}", f"{max(shares):.1%}", "yes" if mean <= GOAL else "no"),
            f"{statistics.mean(estimated):.1%}",
        )
    console.print(table)


def kinds(
    chance: random.Random, demo: Sequence[dict[str, Any]], passages: Path | None
) -> dict[str, list[str]]:
    found = {kind: [text] for kind, (_, text) in {**ORDINARY, **UNDERCOUNTED}.items()}
    if passages is not None:
        with gzip.open(passages, "rt") as lines:
            found["passages"] = [json.loads(line)["content"] for line in lines]
    found["the demo's memories"] = [one["content"] for one in demo]
    found["the same as JSON"] = [json.dumps(one) for one in demo]
    found["README"] = parts("README.md")
    found["Python of this package"] = parts("app/**/*.py")
    found["SQL of this package"] = parts("sql/**/*.sql")
    found["random hexadecimal"] = [f"{chance.getrandbits(256):064x}" for _ in range(500)]
    found["random UUIDs"] = [str(UUID(int=chance.getrandbits(128))) for _ in range(500)]
    found["random base64"] = [base64.b64encode(chance.randbytes(90)).decode() for _ in range(500)]
    return found


def parts(pattern: str) -> list[str]:
    """What stands between empty lines in the files."""
    texts = [path.read_text() for path in sorted(ROOT.glob(pattern))]
    return [part for text in texts for part in BLANK_LINES.split(text) if part.strip()]


def compared(texts: Sequence[str], real: TokenCounter) -> tuple[str, ...]:
    """How many texts; characters a token; the ratio of all, the least; how many are below one."""
    counts = [(estimated_tokens(text), real(text)) for text in texts]
    ratios = [ours / theirs for ours, theirs in counts]
    theirs = sum(one for _, one in counts)
    return (
        f"{len(texts):,}",
        f"{sum(map(len, texts)) / theirs:.2f}",
        f"{sum(ours for ours, _ in counts) / theirs:.2f}",
        f"{min(ratios):.2f}",
        f"{sum(one < 1 for one in ratios) / len(ratios):.0%}",
    )


def added(
    style: Style,
    chance: random.Random,
    records: Sequence[dict[str, Any]],
    count: Callable[[str], int],
) -> float:
    """What a text of some of these memories has beside them, as a share of what they have."""
    day = datetime(2026, 11, 22, tzinfo=UTC)
    blank: dict[str, Any] = {field.name: None for field in fields(Memory)}
    memories = [
        Memory(
            **blank
            | {name: record[name] for name in ("content", "memory_type")}
            | {"created_at": day - timedelta(days=record["days_ago"])}
        )
        for record in chance.sample(list(records), MEMORIES)
    ]
    bodies = sum(count(memory.content) for memory in memories)
    text, _ = marked(style, memories)
    return count(text) / bodies - 1


if __name__ == "__main__":
    typer.run(main)
