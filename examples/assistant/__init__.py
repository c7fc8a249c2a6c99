"""An assistant that remembers what its users tell it."""
