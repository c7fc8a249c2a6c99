"""Searches by a composite score beside what other packages offer for them."""
