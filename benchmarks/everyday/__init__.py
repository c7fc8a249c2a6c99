"""Everyday searches: small agents, beside what people write by hand."""
