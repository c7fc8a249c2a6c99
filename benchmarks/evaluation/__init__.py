"""What evaluating costs, and what weights and floors do to what is found."""
