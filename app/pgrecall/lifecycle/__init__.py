"""Changes after storing: use, correction, labels, links, curation, garbage collection."""
