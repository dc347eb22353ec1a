"""Surrogates that the ranking surrogate is compared with."""
