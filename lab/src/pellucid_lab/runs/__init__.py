"""Resumable runs: worker processes, files with one JSON line per run, and the runs that measure regret."""
