"""Signals, profiles and scores."""
