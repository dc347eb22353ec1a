"""Storages and studies that a user names on the command line."""
