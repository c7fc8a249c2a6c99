"""The command line `pgrecall`."""

import sys

try:
    from pgrecall.cli.main import main
except ModuleNotFoundError as problem:
    _missing = (problem.name or "").partition(".")[0]
    if _missing not in ("platformdirs", "rich", "typer"):
        raise

    def main() -> None:
        """Says what to install."""
        sys.exit(f"The command line needs {_missing}: pip install 'pgrecall[local]'")


__all__ = ["main"]
