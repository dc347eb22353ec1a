"""``python -m pellucid.cli``."""

from pellucid.surfaces.cli.app import run

run()
