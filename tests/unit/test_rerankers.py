"""Rerankers that come with pgrecall: an endpoint by HTTP, and models in this process."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy
import pytest

from pgrecall import FastEmbedReranker, HttpReranker, SentenceTransformersReranker
from pgrecall.core.rerankers import verdict
from pgrecall.errors import ExtraMissing, InputError, RerankFailed

KEY = "sk-0123456789"
COHERE, JINA = "/v2/rerank", "/v1/rerank"


class Endpoint(ThreadingHTTPServer):
    """A server of both forms. The relevance of a text is its length; the best comes first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str | None, dict[str, Any]]] = []
        self.answers: list[tuple[int, str]] = []
        """What it answers before it judges: status and body."""

    def url(self, path: str = COHERE) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], asked))
        results: list[dict[str, Any]] = [
            {"index": place, "relevance_score": len(text) / 10}
            for place, text in enumerate(asked["documents"])
        ]
        results = sorted(results, key=lambda one: -one["relevance_score"])[: asked["top_n"]]
        good: dict[str, Any] = {"results": results, "id": "1", "meta": {}}
        if self.path == JINA:
            for one in results:
                one["document"] = {"text": asked["documents"][int(one["index"])]}
            good = {"model": asked["model"], "usage": {"total_tokens": 1}, "results": results}
        status, body = self.server.answers.pop() if self.server.answers else (200, json.dumps(good))
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", self.server.url("/elsewhere"))
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Writes nothing to stderr."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("RERANK_API_KEY", KEY)
    with Endpoint() as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", [COHERE, JINA])
def test_an_endpoint_of_both_forms_judges_texts_in_their_order(
    endpoint: Endpoint, path: str
) -> None:
    reranker = HttpReranker(endpoint.url(path), "m")

    assert reranker("té?", ["a", "dddd", "bb"]) == [0.1, 0.4, 0.2]
    asked = {"model": "m", "query": "té?", "documents": ["a", "dddd", "bb"], "top_n": 3}
    assert endpoint.requests == [(path, f"Bearer {KEY}", asked)]
    assert (reranker.model, repr(reranker)) == ("m", "HttpReranker('127.0.0.1', 'm')")


def test_a_server_of_ones_own_needs_no_key(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "mine")

    HttpReranker(endpoint.url(), "m", key_variable="NO_KEY")("q", ["a"])
    HttpReranker(endpoint.url(), "m", key_variable="MY_KEY")("q", ["a"])

    assert [key for _, key, _ in endpoint.requests] == [None, "Bearer mine"]


NO_SCORES = r"no relevance_score for each text; is url the whole endpoint\?"


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (401, json.dumps({"message": f"Bearer {KEY} is unknown"}), "status 401: .* …"),
        (500, "x" * 10_000, "status 500: xxx"),
        (307, "", "status 307"),
        (302, "", "status 302"),
        (200, "<html></html>", NO_SCORES),
        (200, "[]", NO_SCORES),
        (200, '{"results": 3}', NO_SCORES),
        (200, '{"results": [{"index": [], "relevance_score": 1}]}', NO_SCORES),
        (200, '{"results": [{"index": 1, "relevance_score": 1}]}', NO_SCORES),
        (200, '{"results": [{"index": 0, "relevance_score": null}]}', NO_SCORES),
        (200, "[" * 100_000, NO_SCORES),
    ],
)
def test_a_failure_says_where_and_why_without_the_key(
    endpoint: Endpoint, status: int, body: str, problem: str
) -> None:
    endpoint.answers = [(status, body)]
    reranker = HttpReranker(endpoint.url(), "nomic")

    with pytest.raises(RerankFailed, match=rf"127\.0\.0\.1, nomic: .*{problem}") as raised:
        reranker("q", ["a"])

    chain: list[BaseException | None] = [raised.value]
    while chain[-1] is not None:
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    assert KEY not in repr([reranker, *chain]) + str(raised.value)
    assert len(str(raised.value)) < 300
    assert len(endpoint.requests) == 1, "the key goes nowhere else"


def test_a_server_that_is_not_there(endpoint: Endpoint) -> None:
    endpoint.server_close()
    with pytest.raises(RerankFailed, match=r"127\.0\.0\.1, m: .*(refused|reset)"):
        HttpReranker(endpoint.url(), "m")("q", ["a"])


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RerankFailed, match=r"127\.0\.0\.1, m: timed out"):
            HttpReranker(url, "m", timeout=0.05)("q", ["a"])


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/passwd", "must begin with https:// or http:// and a host, got 'file"),
        ("api.jina.ai/v1/rerank", "must begin with https://"),
        ("http://[", "must begin with https://"),
        (None, "must begin with https://"),
        ("https://me:secret@host/rerank", "no user and password"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        HttpReranker(url, "m")
    assert "secret" not in str(raised.value)


class Loaded:
    """The methods of a CrossEncoder and of a TextCrossEncoder that are called. Their models would
    be downloads."""

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        return numpy.array([len(query) + len(text) / 10 for query, text in pairs], "float32")

    def rerank(self, query: str, texts: list[str]) -> Any:
        yield from self.predict([(query, text) for text in texts])


@pytest.mark.parametrize("kind", [SentenceTransformersReranker, FastEmbedReranker])
def test_a_loaded_model_judges_pairs_of_query_and_text(
    kind: type[SentenceTransformersReranker | FastEmbedReranker],
) -> None:
    reranker = kind("small", loaded=Loaded())

    judged = verdict(reranker("qq", ["a", "bbb"]), 2)

    assert judged.values == pytest.approx([2.1, 2.3])
    assert {*map(type, judged.values or ())} == {float}
    assert reranker.model == "small"


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        (SentenceTransformersReranker, "sentence_transformers", "sentence-transformers"),
        (FastEmbedReranker, "fastembed", "fastembed"),
    ],
)
def test_an_extra_that_is_missing(
    kind: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ExtraMissing, match=rf"pip install 'pgrecall\[{extra}\]'"):
        kind("m")
