"""A small world to try pgrecall on: the memories of one assistant over six months."""

from pgrecall.demo.world import AGENT, MIN_SIMILARITY, QUERIES, store

__all__ = ["AGENT", "MIN_SIMILARITY", "QUERIES", "store"]
