"""Embedders that are not ours: an endpoint by HTTP, LangChain's, and models in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from pgrecall import (
    AsyncEmbedder,
    Embedder,
    FastEmbedEmbedder,
    OpenAIEmbedder,
    SentenceTransformersEmbedder,
)
from pgrecall.core.embedders import model_name
from pgrecall.errors import EmbeddingFailed, ExtraMissing, InputError

KEY = "sk-0123456789"
JSON = "application/json"


class Endpoint(ThreadingHTTPServer):
    """A server with OpenAI's API. The vector of a text is its length and its place in the request,
    and they come in the wrong order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[tuple[int, str, str]] = []
        """What it answers before it makes embeddings: status, type and body."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(asked)
        self.server.keys.append(self.headers["Authorization"])
        made = [
            {"object": "embedding", "index": place, "embedding": [float(len(text)), float(place)]}
            for place, text in enumerate(asked["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        good = {"object": "list", "model": "m", "data": made[::-1], "usage": usage}
        answers = self.server.answers
        status, kind, body = answers.pop(0) if answers else (200, JSON, json.dumps(good))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After-Ms", "1")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Writes nothing to stderr."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Endpoint() as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_texts_are_sent_in_batches_and_vectors_come_in_their_order(endpoint: Endpoint) -> None:
    embedder = OpenAIEmbedder("m", base_url=endpoint.url, batch_size=2, dimensions=2)

    vectors = embedder.embed_documents(["a", "bb", "ccc"])

    assert vectors == [[1, 0], [2, 1], [3, 0]]
    assert embedder.embed_query("dddd") == [4, 0]
    assert embedder.embed_documents([]) == []
    assert [asked["input"] for asked in endpoint.requests] == [["a", "bb"], ["ccc"], ["dddd"]]
    assert {asked["dimensions"] for asked in endpoint.requests} == {2}
    assert {*endpoint.keys} == {f"Bearer {KEY}"}
    assert model_name(embedder) == "m"


def test_a_request_that_fails_in_passing_is_repeated(endpoint: Endpoint) -> None:
    endpoint.answers = [(503, "text/plain", "busy"), (429, JSON, "{}")]

    assert OpenAIEmbedder("m", base_url=endpoint.url).embed_query("a") == [1, 0]
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((401, JSON, json.dumps({"error": {"message": f"Bearer {KEY} is unknown"}})), "401"),
        ((500, "text/plain", KEY), "500"),
        ((200, "text/html", "<html></html>"), "base_url"),
        ((200, JSON, "{"), "base_url"),
        ((200, JSON, '{"error": "no such model"}'), "base_url"),
    ],
)
def test_a_failure_says_where_and_why_without_the_key(
    endpoint: Endpoint, answer: tuple[int, str, str], problem: str
) -> None:
    endpoint.answers = [answer]
    embedder = OpenAIEmbedder("nomic", base_url=endpoint.url, max_retries=0)

    with pytest.raises(EmbeddingFailed, match=rf"127\.0\.0\.1, nomic: .*{problem}") as raised:
        embedder.embed_query("a")

    chain: list[BaseException | None] = [raised.value]
    while chain[-1] is not None:
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    assert KEY not in repr([embedder, *chain]) + str(raised.value)


def test_a_server_that_is_not_there(endpoint: Endpoint) -> None:
    endpoint.server_close()
    with pytest.raises(EmbeddingFailed, match="Connection error"):
        OpenAIEmbedder("m", base_url=endpoint.url, max_retries=0).embed_query("a")


def test_only_openai_itself_needs_a_key(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    with pytest.raises(InputError, match="set the environment variable MY_KEY"):
        OpenAIEmbedder("m", key_variable="MY_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    assert OpenAIEmbedder("m").embed_query("a") == [1, 0]
    with pytest.raises(InputError, match="batch_size must be 1 or more, got 0"):
        OpenAIEmbedder("m", batch_size=0)


def test_embeddings_of_langchain_are_embedders() -> None:
    class Named(DeterministicFakeEmbedding):
        model_name: str = "fake"

    embedder = Named(size=4)

    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, AsyncEmbedder)
    assert model_name(embedder) == "fake"
    assert model_name(DeterministicFakeEmbedding(size=4)) is None


class Loaded:
    """The methods of a SentenceTransformer and of a TextEmbedding that are called. Their models
    would be downloads."""

    def encode_document(self, texts: list[str]) -> Any:
        return numpy.array([[len(text), 1.0] for text in texts])

    def encode_query(self, text: str) -> Any:
        return numpy.array([len(text), 2.0])

    def passage_embed(self, texts: list[str]) -> Any:
        return iter(self.encode_document(texts))

    def query_embed(self, text: str) -> Any:
        return iter([self.encode_query(text)])


@pytest.mark.parametrize("kind", [SentenceTransformersEmbedder, FastEmbedEmbedder])
def test_a_loaded_model_embeds_queries_and_documents_in_its_own_ways(
    kind: type[SentenceTransformersEmbedder | FastEmbedEmbedder],
) -> None:
    embedder = kind("small", loaded=Loaded())

    assert isinstance(embedder, Embedder)
    assert model_name(embedder) == "small"
    assert numpy.array(embedder.embed_documents(["a", "bb"])).tolist() == [[1, 1], [2, 1]]
    assert numpy.array(embedder.embed_query("ccc")).tolist() == [3, 2]


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        (OpenAIEmbedder, "openai", "openai"),
        (SentenceTransformersEmbedder, "sentence_transformers", "sentence-transformers"),
        (FastEmbedEmbedder, "fastembed", "fastembed"),
    ],
)
def test_an_extra_that_is_missing(
    kind: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ExtraMissing, match=rf"pip install 'pgrecall\[{extra}\]'"):
        kind("m")
