"""Shapley values of proposals."""
