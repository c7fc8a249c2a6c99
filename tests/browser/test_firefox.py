"""The studio in Firefox, which answers to WebDriver BiDi over a WebSocket of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.browser.test_studio import owner
from tests.integration.serving import Service

websockets = pytest.importorskip("websockets.sync.client")
PROGRAM = which("firefox-esr") or which("firefox")
OPTIONS = "--headless --remote-debugging-port 0 --profile"
ENTER, END = "\ue007", "\ue010"
__all__ = ["owner"]


class Firefox:
    def __init__(self, socket: Any) -> None:
        self.socket, self.numbers, self.errors = socket, count(1), list[str]()
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.tab = self.call("browsingContext.create", type="tab")["context"]

    def call(self, method: str, **params: Any) -> Any:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv(timeout=60))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]
            if answer.get("params", {}).get("level") == "error":
                self.errors.append(answer["params"]["text"])

    def run(self, expression: str) -> None:
        its = {"target": {"context": self.tab}, "awaitPromise": True}
        done = self.call("script.evaluate", expression=expression, **its)
        assert done["type"] == "success", done

    def once(self, condition: str) -> None:
        look = f"const look = () => ({condition}) ? done() : requestAnimationFrame(look)"
        self.run(f"new Promise((done) => {{ {look}; look(); }})")

    def press(self, keys: str) -> None:
        strokes = [{"type": one, "value": key} for key in keys for one in ("keyDown", "keyUp")]
        keyboard = [{"type": "key", "id": "keyboard", "actions": strokes}]
        self.call("input.performActions", context=self.tab, actions=keyboard)


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    if PROGRAM is None:
        pytest.skip("Firefox is not installed")
    command = [PROGRAM, *OPTIONS.split(), str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            listening = (one for one in process.stderr or () if "BiDi listening on" in one)
            with websockets.connect(f"{next(listening).split()[-1]}/session") as socket:
                yield Firefox(socket)
        finally:
            process.terminate()


def test_a_slider_ranks_anew(studio: Service, owner: str, firefox: Firefox) -> None:
    page = f"{studio.url}/studio#key={studio.key(owner)}"
    firefox.call("browsingContext.navigate", context=firefox.tab, url=page, wait="complete")
    firefox.once("document.activeElement?.id === 'q'")
    firefox.press(f"tram{ENTER}")
    firefox.once("document.querySelector('.hit .content')?.textContent.includes('tram')")
    firefox.run("document.getElementById('weight-recency').focus()")
    firefox.press(END)
    firefox.once("document.querySelector('.hit .content')?.textContent.includes('lamp')")
    firefox.once("location.hash.includes('w.recency=1')")
    assert firefox.errors == []
