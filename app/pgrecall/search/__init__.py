"""Searching and explaining what is found."""
