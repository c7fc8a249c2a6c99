"""The studio's page, its key for one run, and what a key says about itself."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.resources import studio_page
from pgrecall.service.studio_page import HEADERS, files, version
from pgrecall.testing import new_database
from tests.integration.serving import PROGRAM, Service, Slow, gated


def test_the_page_needs_no_key_loads_nothing_from_elsewhere_and_is_not_sent_twice(
    service: Service,
) -> None:
    client = service.client()
    page = client.get("/studio")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert HEADERS.items() <= {name.title(): one for name, one in page.headers.items()}.items()
    assert "unsafe" not in page.headers["content-security-policy"]
    again = client.get("/studio", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")

    folder = studio_page()
    written = {one.relative_to(folder).as_posix() for one in folder.rglob("*.*")}
    styles = {path for path in written if path.startswith("styles/")}
    assert written - styles | {"styles.css"} == {*files()}
    for path in styles:
        assert (folder / path).read_bytes() in files()["styles.css"].content
    for path, one in files().items():
        found = client.get(f"/studio/{path}")
        assert (found.content, found.headers["x-content-type-options"]) == (one.content, "nosniff")
        if path.endswith(".js"):
            assert found.headers["content-type"].startswith("text/javascript")


def test_what_never_changes_is_kept_and_the_page_names_what_it_needs_first(
    service: Service,
) -> None:
    client = service.client()
    page = client.get("/studio")
    assert page.headers["cache-control"] == "no-cache"
    named = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(named) == len({*named}) + 1  # main.js is named twice
    for address in named:
        found = client.get(f"/{address}")
        assert (found.status_code, "immutable" in found.headers["cache-control"]) == (200, True)
    other = "0" * len(version())
    assert client.get(f"/studio/{other}/main.js").status_code == 404
    assert client.get("/studio/main.js").headers["cache-control"] == "no-cache"


def test_large_answers_are_compressed(service: Service) -> None:
    client = service.client("packed")
    for number in range(20):
        service.repo.add("packed", f"The tram of line {number} stops here. " + "again " * 40)
    plain = client.get("/memories", headers={"Accept-Encoding": "identity"})
    packed = client.get("/memories", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    assert "content-encoding" not in client.get("/key").headers  # it is small


@pytest.mark.parametrize(
    "path", ["", "..", "../page/index.html", "%2e%2e/page/index.html", "/etc/passwd", "a%00", "."]
)
def test_no_other_file_is_read(service: Service, path: str) -> None:
    plain = HTTPConnection("127.0.0.1", service.port)  # httpx would normalise the path
    plain.request("GET", f"/studio/{path}")
    assert plain.getresponse().status == 404
    plain.close()


def test_a_key_says_what_it_is_for(service: Service) -> None:
    def told(*owners: str, scope: Any = "write") -> dict[str, Any]:
        said: dict[str, Any] = service.client(*owners, scope=scope).get("/key").json()
        return said

    one = told("zoe")
    assert one.pop("version")
    assert one == {
        "keyed": True,
        "owners": ["zoe"],
        "scope": "write",
        "default_owner": "zoe",
        "embedder": True,
    }
    several = told("team:red", "ben", scope="read")
    assert (several["owners"], several["scope"]) == (["ben", "team:red"], "read")
    assert (several["default_owner"], told("zoe", "default")["default_owner"]) == ("ben", "default")
    assert service.client().get("/key").status_code == 401


async def asked(**headers: str) -> int:
    app = Slow()
    app.go.set()
    async with gated(app, run_key="s3cret") as client:
        return (await client.get("/memories", headers=headers)).status_code


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer s3cret"}, 200),
        ({}, 401),
        ({"Authorization": "Bearer s3cre"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic s3cret"}, 401),
        ({"Authorization": "Bearer s3cret", "Host": "rebound.example"}, 421),
        ({"Authorization": "Bearer s3cret", "Origin": "https://evil.example"}, 421),
        ({"Authorization": "Bearer s3cret", "Sec-Fetch-Site": "cross-site"}, 421),
    ],
)
def test_a_web_page_does_not_reach_the_studio_of_this_machine(
    headers: dict[str, str], status: int
) -> None:
    assert asyncio.run(asked(**headers)) == status


@pytest.fixture
def studio(server_url: str, local_template: str) -> Iterator[str]:
    """The address that `pgrecall studio --demo` prints."""
    with new_database(server_url, local_template) as url:
        process = subprocess.Popen(
            [str(PROGRAM), "studio", "--demo", "--no-browser", "--database-url", url],
            env=os.environ | {"PYTHONWARNINGS": "error"},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        said = process.stderr.readline()
        try:
            found = re.search(r"http://127\.0\.0\.1:\d+/studio#key=[\w-]{43}$", said)
            assert found, said + process.stderr.read()
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert process.returncode == 0


def test_the_studio_opens_on_the_memories_of_the_demo(
    studio: str, local_embedder: LocalEmbedder
) -> None:
    address, key = studio.split("/studio#key=")
    assert make_url(address).host == "127.0.0.1"
    with httpx.Client(base_url=address, timeout=60) as client:
        assert client.get("/studio").status_code == 200
        assert client.get("/key").status_code == 401
        preflight = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST"}
        answer = client.options("/search", headers=preflight)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        client.headers["Authorization"] = f"Bearer {key}"
        told = client.get("/key").json()
        assert (told["owners"], told["scope"], told["default_owner"]) == (None, "maintain", "demo")
        found = client.post("/search", json={"query": "allergies and diets", "touch": False})
        assert found.json()["results"][0]["memory"]["agent_id"] == "demo"
        pending = {"filter": '{"status": "pending"}', "include_inactive": "true"}
        waiting = client.get("/memories", params=pending).json()["memories"]
        assert len(waiting) == 1


def test_the_studio_does_not_open_on_a_database_without_tables(empty_url: str) -> None:
    command = [str(PROGRAM), "studio", "--no-browser", "--database-url", empty_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "pgrecall migrate up" in done.stderr) == (4, True)
