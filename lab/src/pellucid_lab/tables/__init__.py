"""Numbers from runs, and tables of them."""
