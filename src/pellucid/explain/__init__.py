"""Answers about a study, from its storage alone."""
