"""Published sets of conversations and questions, read as they are published."""
