"""``python -m pellucid.cli``."""

from pellucid.cli.app import run

run()
