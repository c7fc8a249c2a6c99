"""Writes what people leave, with the library that they leave: python libraries.py SYSTEM URL.

Run in an environment of its own, since langchain-postgres needs an older pgvector than the newest
of pgrecall's: see `make test-left`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from langchain_core.embeddings import Embeddings

WORDS = ("tea", "coffee", "cat", "dog", "train", "ship", "paris")


class Bags(Embeddings):
    """A dimension for each word that is known, and one for all others."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        words = text.lower().split()
        return [*(float(words.count(word)) for word in WORDS), 0.1]


class ForMem0:
    """The same with mem0's methods."""

    def embed(self, text: str, action: object = None) -> list[float]:
        return Bags().embed_query(text)


def mem0(url: str) -> None:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}
    os.environ |= {"OPENAI_API_KEY": "none: no model is asked"}
    from mem0 import Memory

    store = {"connection_string": url, "embedding_model_dims": len(WORDS) + 1}
    store_config = {"provider": "pgvector", "config": store}
    memory: Any = Memory.from_config({"vector_store": store_config, "history_db_path": ":memory:"})
    memory.embedding_model = ForMem0()
    add = {"infer": False}
    found = memory.add("Zoe drinks green tea", user_id="zoe", metadata={"lang": "en"}, **add)
    memory.add("The train to Paris leaves at nine", user_id="zoe", run_id="trip", **add)
    memory.add("Answers are short", agent_id="helper", **add)
    memory.add("Only in this talk", run_id="talk-1", **add)
    memory.add(
        "Zoe has a cat", user_id="zoe", agent_id="helper", expiration_date="2199-12-31", **add
    )
    memory.add("größer ☕ \\ ' \"", user_id="zoe", **add)
    [first] = found["results"]
    memory._upsert_entity("Zoe", "person", first["id"], {"user_id": "zoe"})
    memory.vector_store.connection_pool.close()
    memory.entity_store.connection_pool.close()


def langchain(url: str) -> None:
    from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore

    url = url.replace("postgresql:", "postgresql+psycopg:")
    for collection, number in (("zoe", 3), ("bob", 2)):
        store = PGVector(Bags(), connection=url, collection_name=collection)
        texts = [f"{collection} has tea {n}" for n in range(number)]
        ids = [f"{collection}-{n}" for n in range(number)]
        store.add_texts(texts, [{"user": "u", "n": n} for n in range(number)], ids=ids)
    store.add_texts(["without an id"], [{"user": "w"}])
    engine = PGEngine.from_connection_string(url)
    engine.init_vectorstore_table(
        "notes", len(WORDS) + 1, metadata_columns=[Column("topic", "text")]
    )
    newer = PGVectorStore.create_sync(engine, Bags(), "notes", metadata_columns=["topic"])
    newer.add_texts(
        ["a ship", "a dog"],
        [{"topic": "sea", "page": 1}, {"topic": "pets"}],
        ids=["0197a3c2-0000-7000-8000-000000000001", "0197a3c2-0000-7000-8000-000000000002"],
    )


if __name__ == "__main__":
    {"mem0": mem0, "langchain": langchain}[sys.argv[1]](sys.argv[2])
