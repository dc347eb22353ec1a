"""Trials that are stopped early: the chance behind a decision, its explanation, and what all of them saved and cost."""
