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
app.command(
    help="Run methods on problems and tabulate ranks, wins, regret and time.\n\n"
    "Repeat the command to continue after a stop, or use other methods or problems to add to the same "
    "file.",
)(regret)
app.command(
    name="table",
    help="Tabulate a file of runs again, without running anything.",
)(tabulate)
app.command(
    help="Milliseconds per ask against the number of trials, all methods side by side in one run.",
)(latency)
app.command(
    help="Milliseconds and megabytes of an ask in large studies, and the regret of a model of a choice of "
    "their trials. Repeat the command to continue after a stop.",
)(scale)
app.command(
    help="How much of a budget `StopWhen` saves, and what that costs. Repeat the command to continue after a stop.",
)(stopping)
app.command(
    help="Seconds and megabytes of a report, for a random study and, up to 1000 trials, for one that pellucid ran.",
)(report)
app.command(
    help="Regret, average ranks and critical differences of methods on the test tasks of HPO-B-v3.\n\n"
    "Every method searches every task from the published starts. Repeat the command to continue after a "
    "stop, or use other methods to add them.",
)(hpob)
app.command(
    help="Seconds of ten members at once and one by one, of an ask with fine-tuning, and of meta-training.",
)(ranking)
app.command(
    help="Importance, intervals, bands, verdicts and advice against the truth, on studies of 40 to 150 trials.\n\n"
    "Rules and defaults are chosen on the design problems and seeds; errors are reported on the others.",
)(truth)
app.command(
    help="Chances of being on the front, intervals, exchange rates, roles, compromises and what matters for "
    "being on the front against the truth, on studies of 60 trials.\n\n"
    "Rules and constants are chosen on the design problems and seeds; errors are reported on the others.",
)(fronts)
app.command(
    help="Trials that `recommend` names on dense fronts of two to four objectives, and how much of the front "
    "they span.",
)(dense_fronts)
app.command(
    help="Best feasible values, first feasible trials, feasible proposals and time of methods on constrained "
    "problems.\n\n"
    "Rules and defaults are chosen on the design problems and seeds; results are reported on the others. "
    "Repeat the command to continue after a stop, or use other methods or problems to add to the same "
    "file.",
)(constrained)
app.command(
    help="Dominated volume and time of methods on problems with several objectives.\n\n"
    "Rules and defaults are chosen on the design problems and seeds; results are reported on the others. "
    "Repeat the command to continue after a stop, or use other methods or problems to add to the same "
    "file.",
)(moo)
app.command(
    help="Regret by epochs spent, winners that were pruned, and time of samplers with pruners.\n\n"
    "Rules and defaults are chosen on the design problems and seeds; results are reported on the others. "
    "Repeat the command to continue after a stop, or use other samplers, pruners or problems to add to "
    "the same file.",
)(curves)
app.command(
    help="Chances of becoming the best trial, intervals of the last value and winners that were stopped, "
    "against the truth.\n\n"
    "Every study has 60 trials, ten of them random, and is pruned by `CurvePruner()`.",
)(forecasts)
app.command(
    help="Milliseconds of `should_prune` on SQLite, and of asks of studies with learning curves.",
)(pruning)
app.command(
    help="Kill workers at every statement, fill disks, stop servers, and change receipts, models and names: "
    "what is lost?\n\n"
    "Exits with 1 if anything is. Repeat the command to continue after a stop.",
)(faults)
app.command(
    help="Trials per second of workers that share a study, and whether anything is lost. Needs an idle "
    "machine. Repeat the command to continue after a stop.",
)(engines)
app.command(
    help="Milliseconds per ask of studies in which trials of dead workers still count as running.",
)(running)
