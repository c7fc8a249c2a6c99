"""The command line `pgrecall`."""

import gc
import sys


def print_version() -> None:
    """Prints the version, without importing more."""
    from importlib.metadata import version

    print(f"pgrecall {version('pgrecall')}")  # noqa: T201


gc.disable()  # importing leaves no garbage; looking for it, now and at the exit, takes 0.1 s
try:
    if sys.argv[1:] == ["--version"]:  # Typer alone takes several times as long
        main = print_version
    else:
        from pgrecall.cli.main import main
except ModuleNotFoundError as problem:
    _missing = (problem.name or "").partition(".")[0]
    if _missing not in ("platformdirs", "rich", "typer"):
        raise

    def main() -> None:
        """Says what to install."""
        sys.exit(f"The command line needs {_missing}: pip install 'pgrecall[local]'")
finally:
    gc.freeze()
    gc.enable()


__all__ = ["main"]
