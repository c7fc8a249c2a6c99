"""The HTTP service: parses a request, calls the repository, and writes JSON."""
