"""Averages of a Gaussian process over parts of the space, in closed form."""
