"""A study as data: the encoded search space, trials, receipts, and writing to its storage."""
