"""Contexts: the best memories as text for a prompt."""
