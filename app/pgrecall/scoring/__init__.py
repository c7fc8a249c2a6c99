"""Signals, profiles, and the score they make."""
