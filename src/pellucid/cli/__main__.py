"""``python -m pellucid.cli``."""

from pellucid.cli import app

app(prog_name="pellucid")
