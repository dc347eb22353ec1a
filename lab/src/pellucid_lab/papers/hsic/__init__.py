"""Goal-oriented sensitivity analysis with HSIC, and the search in two steps."""
