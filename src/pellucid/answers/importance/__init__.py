"""Which parameters matter for reaching a goal."""
