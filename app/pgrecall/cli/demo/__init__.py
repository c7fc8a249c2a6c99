"""A small world to try pgrecall on: the memories of one assistant over six months."""

from pgrecall.cli.demo.world import AGENT, MIN_RELEVANCE, QUERIES, store

__all__ = ["AGENT", "MIN_RELEVANCE", "QUERIES", "store"]
