"""``pellucid reproduce``: repeat the experiments of five papers on one machine and compare with what they report.

Exit codes: see `pellucid_lab.terminal`. Each run is in a file before the next one starts; repeat a command to continue.
"""

from __future__ import annotations

import typer

from pellucid_lab.papers.bobax.command import bobax
from pellucid_lab.papers.hsic.command import hsic
from pellucid_lab.papers.ranking.command import ranking
from pellucid_lab.papers.sawei.command import sawei
from pellucid_lab.papers.shapley.command import shapley

app = typer.Typer(no_args_is_help=True, help="Repeat the experiments of five papers.")
app.command()(sawei)
app.command()(bobax)
app.command()(shapley)
app.command()(hsic)
app.command()(ranking)
