"""An endpoint with OpenAI's API that stands for a language model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPLIES = {
    "Porto": [
        {"content": "Ines lives in Porto.", "subject": "home of Ines", "importance": 0.7},
        {"content": "Ines has a dog."},
    ],
    "Faro": [
        {"content": "Ines lives in Faro.", "subject": "KNOWN", "importance": 0.7},
        {"content": "Ines moves often.", "importance": 7},
    ],
}
"""What is found, by a word of the message. KNOWN is the last subject of the instructions."""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        assert asked["response_format"] == {"type": "json_object"}
        instructions, message = (one["content"] for one in asked["messages"])
        [found] = [reply for word, reply in REPLIES.items() if word in message]
        known = instructions.splitlines()[-1]
        content = json.dumps({"memories": found}).replace("KNOWN", known)
        choice = {"index": 0, "message": {"role": "assistant", "content": content}}
        answer = json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def chat_endpoint() -> Iterator[str]:
    """Its address, as OPENAI_BASE_URL has it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)
