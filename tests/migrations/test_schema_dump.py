from __future__ import annotations

import re

from pgrecall import migrate
from tests.migrations.schema_dump import COMMITTED, dump


def test_the_committed_dump_is_what_the_migrations_build(empty_url: str) -> None:
    migrate.upgrade(empty_url)

    assert dump(empty_url, repeatable=False) == COMMITTED.read_text(encoding="utf-8"), (
        "the migrations build another schema than migrations/schema.sql shows: "
        "run `python -m tests.migrations.schema_dump` and commit the file"
    )


def test_the_dump_is_the_same_on_every_machine(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    text = dump(empty_url)

    assert "CREATE TABLE pgrecall.agent_memories" in text
    assert not re.search(r"restrict|pg_dump version|Owner: (?!-)|^GRANT", text, re.MULTILINE)
    moments = re.findall(r"'(\d{4}-[^']+)'::timestamp with time zone", text)
    assert moments
    assert all(moment.endswith("+00") for moment in moments), "PGTZ is UTC"
