"""``pellucid bench``: one module per command, joined here. Slow imports wait until a command runs.

Exit codes: see `pellucid_lab.terminal`.
"""

from __future__ import annotations

import typer

from pellucid_lab.commands.constrained import constrained
from pellucid_lab.commands.costs import pruning, report, running, stopping
from pellucid_lab.commands.curves import curves
from pellucid_lab.commands.engines import engines
from pellucid_lab.commands.faults import faults
from pellucid_lab.commands.forecasts import forecasts
from pellucid_lab.commands.fronts import dense_fronts, fronts
from pellucid_lab.commands.hpob import hpob
from pellucid_lab.commands.latency import latency
from pellucid_lab.commands.moo import moo
from pellucid_lab.commands.ranking import ranking
from pellucid_lab.commands.regret import regret, tabulate
from pellucid_lab.commands.scale import scale
from pellucid_lab.commands.truth import truth

app = typer.Typer(no_args_is_help=True, help="Compare samplers: regret on problems, milliseconds per ask, other costs.")
app.command()(regret)
app.command(name="table")(tabulate)
app.command()(latency)
app.command()(scale)
app.command()(stopping)
app.command()(report)
app.command()(hpob)
app.command()(ranking)
app.command()(truth)
app.command()(fronts)
app.command()(dense_fronts)
app.command()(constrained)
app.command()(moo)
app.command()(curves)
app.command()(forecasts)
app.command()(pruning)
app.command()(faults)
app.command()(engines)
app.command()(running)
