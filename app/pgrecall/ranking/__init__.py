"""The arguments of a search, and the statement that ranks."""
