"""A study as data: the encoded search space, trials, receipts, and the storage they live in."""
