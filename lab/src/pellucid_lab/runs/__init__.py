"""Resumable runs in worker processes, stored as lines of JSON."""
