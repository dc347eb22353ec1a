"""``pellucid reproduce``: the experiments of the sources again, on one machine, beside what the sources say.

Exit codes as for ``pellucid bench``. Every run is in a file before the next one starts; the same command continues.
"""

from __future__ import annotations

import typer

from pellucid_lab.papers.bobax.command import bobax
from pellucid_lab.papers.hsic.command import hsic
from pellucid_lab.papers.ranking.command import ranking
from pellucid_lab.papers.sawei.command import sawei
from pellucid_lab.papers.shapley.command import shapley

app = typer.Typer(no_args_is_help=True, help="Repeat the experiments of the sources.")
app.command()(sawei)
app.command()(bobax)
app.command()(shapley)
app.command()(hsic)
app.command()(ranking)
