"""Changes after storing: use, correction, links, curation, garbage collection."""
