"""Contexts: ranked memories as text for a prompt."""
