"""Adding, reading and changing memories."""
