from __future__ import annotations

from collections.abc import Iterator

import pytest

from pgrecall import MemoryRepository, migrate
from pgrecall.embedders import LocalEmbedder
from tests.conftest import new_database
from tests.integration.conftest import RepositoryOf
from tests.integration.support import contents

TEXTS = [
    "The user prefers tea over coffee in the morning.",
    "The deployment failed because the disk was full.",
    "Anna's birthday is on the third of March.",
]


@pytest.fixture(scope="module")
def local_url(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=LocalEmbedder.dimensions)
        yield url


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def remembering(
    repository_of: RepositoryOf, local_url: str, local: LocalEmbedder, agent: str
) -> MemoryRepository:
    repo = repository_of(local_url, embedder=local)
    repo.add(agent, TEXTS[0])
    repo.add_many(agent, TEXTS[1:])
    return repo


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which hot drink does the user like?", TEXTS[0]),
        ("Why did the release to the server go wrong?", TEXTS[1]),
        ("When was Anna born?", TEXTS[2]),
    ],
)
def test_a_question_finds_its_memory(
    remembering: MemoryRepository, agent: str, question: str, answer: str
) -> None:
    hits = remembering.search(agent, question, touch=False)

    assert contents(hits)[0] == answer
    assert len(hits) == 3


def test_the_models_name_is_stored(remembering: MemoryRepository, agent: str) -> None:
    [hit] = remembering.search(agent, TEXTS[0], k=1)

    assert hit.memory.embedding_model == LocalEmbedder.model
    assert hit.similarity == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", [" ", "🙂", "。", "\u200b", "tea " * 20_000])
def test_any_text_can_be_remembered(
    repository_of: RepositoryOf, local_url: str, local: LocalEmbedder, agent: str, text: str
) -> None:
    repo = repository_of(local_url, embedder=local)

    memory_id = repo.add(agent, text)

    memory = repo.get(agent, memory_id)
    assert memory is not None
    assert memory.content == text
