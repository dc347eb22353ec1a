"""Bayesian optimisation that also learns partial dependences."""
