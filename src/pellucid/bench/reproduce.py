"""``pellucid reproduce``: the experiments of the sources again, on one machine, beside what the sources say.

Exit codes as for ``pellucid bench``. Every run is in a file before the next one starts; the same command continues.
"""

from __future__ import annotations

import typer

from pellucid.bench.reproduce_bobax import bobax
from pellucid.bench.reproduce_hsic import hsic
from pellucid.bench.reproduce_ranking import ranking
from pellucid.bench.reproduce_sawei import sawei
from pellucid.bench.reproduce_shapley import shapley

app = typer.Typer(no_args_is_help=True, help="Repeat the experiments of the sources.")
app.command()(sawei)
app.command()(bobax)
app.command()(shapley)
app.command()(hsic)
app.command()(ranking)
