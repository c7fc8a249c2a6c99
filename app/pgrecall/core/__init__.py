"""Shared foundations: limits, validation, vectors, ids, embedders, tokens and resources."""
