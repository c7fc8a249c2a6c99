"""Rank indexes: building, searching and maintaining them."""
