"""Rank indexes: built, looked through, maintained."""
