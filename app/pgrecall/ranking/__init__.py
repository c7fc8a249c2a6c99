"""What a search asks, and the statement that ranks."""
