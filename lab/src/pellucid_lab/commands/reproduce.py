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
app.command(
    help="SAWEI and the schedules it was compared with: ranks over time, final regret and traces of alpha.",
)(sawei)
app.command(
    help="Effects and regret of BOBAX, its variants and its baselines; coverage of the bands; a-BOBAX on tuned "
    "networks.",
)(bobax)
app.command(
    help="The interaction example, the hyper-ellipsoid with λ = 1 and 10, and a tuned network (predicted by a forest).",
)(shapley)
app.command(
    help="The paper's three examples, and networks for Runge's function, Bateman's equations and handwritten digits.",
)(hsic)
app.command(
    help="Losses, weightings, contexts, fine-tuning, acquisitions and the comparison with other surrogates, on "
    "tables of tuned networks and of XGBoost. Uses a GPU if there is one; without it, all experiments "
    "take hours.",
)(ranking)
