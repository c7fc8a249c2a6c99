"""The command line `pgrecall`."""

import gc
import sys

gc.disable()  # importing leaves no garbage; looking for it, now and at the exit, takes 0.1 s
try:
    from pgrecall.cli.main import main
except ModuleNotFoundError as problem:
    _missing = (problem.name or "").partition(".")[0]
    if _missing not in ("platformdirs", "rich", "typer"):
        raise

    def main() -> None:
        """Says what to install."""
        sys.exit(f"The command line needs {_missing}: pip install 'pgrecall[cli]'")
finally:
    gc.freeze()
    gc.enable()


__all__ = ["main"]
