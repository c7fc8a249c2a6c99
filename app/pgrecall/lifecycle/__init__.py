"""Changes after storing: use, correction, links, curation, maintenance."""
