"""Evaluation and tuning of profiles by judged queries."""
