"""Surrogates that the ranking is compared with."""
