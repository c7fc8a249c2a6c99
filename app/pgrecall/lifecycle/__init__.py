"""What becomes of memories: use, correction, labels, links, curation, garbage."""
