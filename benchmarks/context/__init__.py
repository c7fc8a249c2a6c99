"""What assembling a context costs beside the search in it."""
