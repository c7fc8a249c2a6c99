"""Labelled questions, and the memories that answer them."""
