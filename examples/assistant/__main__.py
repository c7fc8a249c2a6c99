"""python -m assistant [FOLDER]: the application on an embedded PostgreSQL with its data there."""

from __future__ import annotations

import os
import signal
import sys

import uvicorn

from assistant.app import create_app
from assistant.database import upgrade
from pgrecall import embedded


def main() -> None:
    """Runs until Ctrl-C or SIGTERM; uvicorn answers first, then the database stops."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    folder = sys.argv[1] if len(sys.argv) > 1 else "assistant-data"
    url = embedded.database(folder).start()
    upgrade(url)
    uvicorn.run(create_app(url), port=int(os.environ.get("PORT", "8000")))


if __name__ == "__main__":
    main()
