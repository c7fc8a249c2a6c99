"""GET /studio: the page that shows rankings. Its files hold no data, so they need no key."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from pgrecall.core.resources import studio_page
from pgrecall.service.problems import Problem

router = APIRouter(include_in_schema=False)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Nothing is loaded from elsewhere, and no script runs that stands in a text."""
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""The types that the page cannot do without, whatever the system's own table says."""


class PageFile(NamedTuple):
    """A file of the page, as it is sent."""

    content: bytes
    media_type: str
    etag: str


@cache
def files() -> Mapping[str, PageFile]:
    """The files of the page by their paths, read once: a path in a request opens none."""
    folder, found = studio_page(), {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
            etag = f'"{sha256(content).hexdigest()[:32]}"'
            found[path.relative_to(folder).as_posix()] = PageFile(content, kind, etag)
    return found


@router.get("/studio")
async def page(request: Request) -> Response:
    """The page itself."""
    return _answer(request, "index.html")


@router.get("/studio/{path:path}")
async def file(request: Request, path: str) -> Response:
    """A file that the page loads."""
    return _answer(request, path)


def _answer(request: Request, path: str) -> Response:
    found = files().get(path)
    if found is None:
        raise Problem(404, "the studio has no such file")
    headers = HEADERS | {"ETag": found.etag}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)
