"""Searches, explanations and query plans."""
