"""The documented path of the JSON Schemas, and of `python -m pellucid.cli`; the command itself is in `surfaces.cli`."""
