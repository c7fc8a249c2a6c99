"""A small world to try pgrecall on: the memories of one assistant over six months."""

from pgrecall.cli.demo.world import AGENT, QUERIES, store

__all__ = ["AGENT", "QUERIES", "store"]
