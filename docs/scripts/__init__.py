"""What builds the documentation site beside its pages."""
