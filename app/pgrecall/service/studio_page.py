"""GET /studio: the page that shows rankings. Its files hold no data, so they need no key."""

from __future__ import annotations

import mimetypes
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
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
}
"""Nothing is loaded from elsewhere, and no script runs that stands in a text."""
UNTIL_IT_CHANGES, FOR_EVER = "no-cache", "public, max-age=31536000, immutable"
FIRST_VIEW = ("main.js", "views/ask.js")
STYLES = ("colours", "page", "hits", "views")
"""In the order in which one overrides another."""
_IMPORT = re.compile(r'\bfrom\s*"(\.[^"]+)"')
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
    folder = studio_page()
    read = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    styles = [read.pop(f"styles/{name}.css") for name in STYLES]
    sent = read | {"styles.css": b"\n".join(styles)}
    return {path: _page_file(path, content) for path, content in sent.items()}


def _page_file(path: str, content: bytes) -> PageFile:
    kind = _TYPES.get(posixpath.splitext(path)[1]) or mimetypes.guess_type(path)[0] or "text/plain"
    return PageFile(content, kind, f'"{sha256(content).hexdigest()[:32]}"')


@cache
def version() -> str:
    """A hash of all files. Addresses begin with it, so that browsers keep what is there for ever,
    and no page loads a part of another version."""
    tags = sorted((path, one.etag) for path, one in files().items())
    return sha256(repr(tags).encode()).hexdigest()[:16]


@cache
def first_page() -> PageFile:
    """The page, which names all modules of the first view: a browser would find one after the
    other by their imports, and wait for each."""
    text = files()["index.html"].content.decode()
    link = '    <link rel="modulepreload" href="studio/{}">\n'
    links = map(link.format, imported(FIRST_VIEW))
    text = text.replace("  </head>", f"{''.join(links)}  </head>")
    return _page_file("index.html", text.replace('"studio/', f'"studio/{version()}/').encode())


def imported(modules: Iterable[str], found: Sequence[str] = ()) -> list[str]:
    """These modules, each with what it imports; not with what it loads later."""
    found = list(found)
    for module in modules:
        if module in found:
            continue
        folder = posixpath.dirname(module)
        imports = _IMPORT.findall(files()[module].content.decode())
        paths = [posixpath.normpath(posixpath.join(folder, one)) for one in imports]
        found = imported(paths, [*found, module])
    return found


@router.get("/studio")
async def page(request: Request) -> Response:
    """The page itself."""
    return _answer(request, first_page(), UNTIL_IT_CHANGES)


@router.get("/studio/{path:path}")
async def file(request: Request, path: str) -> Response:
    """A file that the page loads."""
    of, _, rest = path.partition("/")
    is_versioned = of == version()
    found = files().get(rest if is_versioned else path)
    if found is None:
        raise Problem(404, "the studio has no such file")
    return _answer(request, found, FOR_EVER if is_versioned else UNTIL_IT_CHANGES)


def _answer(request: Request, found: PageFile, kept: str) -> Response:
    headers = HEADERS | {"ETag": found.etag, "Cache-Control": kept}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)
