"""The storages and studies that a user names on the command line."""
