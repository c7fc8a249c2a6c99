"""A reranker behind an endpoint of Cohere's form, which is Jina's, too."""

from __future__ import annotations

import json
import os
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pgrecall.core.quoting import cut, shortened
from pgrecall.core.validation import require_number
from pgrecall.errors import InputError, RerankFailed

_MOST_BYTES = 32 * 1024 * 1024
"""Of an answer, which may repeat the texts."""
_SHOWN_BYTES = 2_000
"""Of the body of an error."""


class HttpReranker:
    """Cohere's or Jina's reranker, or any server with their API, such as vLLM.

    `url` is the endpoint: https://api.cohere.com/v2/rerank, https://api.jina.ai/v1/rerank or your
    own. `model` is the server's name of the model. The environment variable that `key_variable`
    names has the key, which a server of your own may not need. After `timeout` seconds without a
    byte of the server, the request ends; `Rerank.within` ends the wait for it sooner.

    Raises InputError for a URL that cannot be used. Its calls raise RerankFailed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_variable: str = "RERANK_API_KEY",
        timeout: float = 10.0,
    ) -> None:
        self.model = model
        self._url, self._host = url, _host(url)
        self._key = os.environ.get(key_variable)
        self._timeout = require_number("timeout", timeout, 0.001, 3_600, units=" seconds")
        self._open = build_opener(_NoRedirects).open

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._host!r}, {self.model!r})"

    def __call__(self, query: str, texts: list[str], /) -> list[float]:
        asked = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(asked).encode(), headers)  # noqa: S310  checked
        try:
            with self._open(request, timeout=self._timeout) as answer:
                return _values(json.loads(answer.read(_MOST_BYTES)), len(texts))
        except HTTPError as error:
            problem = f"status {error.code}: {self._body(error)}"
        except (OSError, HTTPException) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
        except (KeyError, TypeError, ValueError, IndexError, RecursionError):
            problem = "its answer has no relevance_score for each text; is url the whole endpoint?"
        # The error behind it may quote the key.
        raise RerankFailed(f"{self._host}, {self.model}: {cut(problem)}")

    def _body(self, error: HTTPError) -> str:
        """The beginning of the error's body, without the key."""
        with error:
            try:
                body = error.read(_SHOWN_BYTES)
            except (OSError, HTTPException):
                body = b""
        text = " ".join(body.decode(errors="replace").split())
        return text.replace(self._key, "…") if self._key else text


def _host(url: object) -> str:
    """The host of a URL of HTTP; raises InputError, which quotes no password."""
    text = url if isinstance(url, str) else ""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise InputError("url must hold no user and password: key_variable names the key's place")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"url must begin with https:// or http:// and a host, got {shortened(url)}"
        )
    return parts.hostname


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: it would hand the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _values(answer: Any, number: int) -> list[float]:
    """The relevance of each text, in their order; raises one of several errors otherwise."""
    found = {one["index"]: float(one["relevance_score"]) for one in answer["results"]}
    return [found[place] for place in range(number)]
