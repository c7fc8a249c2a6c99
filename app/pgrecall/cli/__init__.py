"""The command line `pgrecall`."""

from pgrecall.cli.main import main

__all__ = ["main"]
