"""Goal-oriented sensitivity with HSIC, and the search in two steps."""
