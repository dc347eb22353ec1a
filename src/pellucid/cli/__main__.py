"""`python -m pellucid.cli` is the command `pellucid`."""

from pellucid.surfaces.cli.app import run

run()
