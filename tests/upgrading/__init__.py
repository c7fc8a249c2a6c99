"""Clients whose pools outlive `migrate up`."""
