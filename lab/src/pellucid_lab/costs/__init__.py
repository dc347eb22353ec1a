"""What pellucid costs: milliseconds per proposal, reports, the ranking surrogate, stopping early."""
