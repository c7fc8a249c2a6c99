"""The main job on real input, where the file is there."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, migrate
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.memories.importing import import_file

DIARY = Path(__file__).parents[3] / "shared" / "data" / "pepys.jsonl.gz"


@pytest.mark.skipif(not DIARY.exists(), reason="the diary is not part of the project")
def test_the_diary_is_imported_once_and_answers_as_of_a_day(empty_url: str, tmp_path: Path) -> None:
    first_lines = tmp_path / "pepys.jsonl.gz"
    with gzip.open(DIARY, "rb") as source, gzip.open(first_lines, "wb") as target:
        target.writelines(islice(source, 2000))
    migrate.upgrade(empty_url)
    engine = create_engine(empty_url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())

    imported = import_file(repo, "pepys", first_lines)
    again = import_file(repo, "pepys", first_lines)
    as_of = datetime(1660, 5, 26, tzinfo=UTC)
    asked = "the King and the two Dukes come on board"
    hits = repo.search("pepys", asked, k=10, as_of=as_of)
    engine.dispose()

    assert (imported.added, imported.already_there) == (2000, 0)
    assert (again.added, again.already_there) == (0, 2000)
    dates = [hit.memory.created_at for hit in hits]
    assert len(dates) == 10
    assert all(day is not None and day <= as_of for day in dates)
    assert hits[0].memory.created_at is not None
    assert hits[0].memory.created_at.date() == date(1660, 5, 23)
    assert hits[0].memory.content.startswith("The King, with the two Dukes")
