"""How each answer is asked of an overview, and what a page, a note and a command show of it."""
