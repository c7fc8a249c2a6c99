"""Statements of plain SQL, composed of the files in `sql/statements`."""
