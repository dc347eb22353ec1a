"""The search in two steps: random trials first, then the parameters that matter, then the others."""
