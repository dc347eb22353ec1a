"""``pellucid tune``: worker processes, the live table, and the summary."""
