"""Judged queries: evaluating and tuning profiles."""
