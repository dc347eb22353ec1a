"""``pellucid reproduce sawei``: SAWEI and the schedules that its paper compares it with."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.terminal import print_json, say, sentences
from pellucid_lab.options import AsJson, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import command_line, load_plots, save_figure, write

if TYPE_CHECKING:
    from pellucid_lab.papers.sawei.schedules import ScheduleComparison
    from pellucid_lab.runs.regret import RegretKey, RegretRun, RegretTask
    from pellucid_lab.tables.grids import Grid


@dataclass(frozen=True)
class Protocol:
    """Problems and budget of a comparison; ``instances`` are used by bbob only."""

    suite: str
    n_init: int
    n_steps: int
    seeds: tuple[int, ...]
    instances: tuple[int, ...] = ()


PROTOCOLS = {
    # Our variant of SAWEI was designed on BBOB instances 4 and 5 and on HPOBench seeds from 10 on, not on these.
    ("bbob", "quick"): Protocol("bbob", 24, 100, (0, 1, 2), (2, 3)),
    ("hpobench", "quick"): Protocol("hpobench", 15, 100, tuple(range(5))),
    ("bbob", "paper"): Protocol("bbob", 24, 256, tuple(range(10)), (1, 2, 3)),
    ("hpobench", "paper"): Protocol("hpobench", 15, 100, tuple(range(10))),
}
UNITS = Protocol("hpobench", 15, 100, (0, 1))
FACTORS = ("", "*1000")
# Seconds per proposal on one core of the machine of the committed tables: for an estimate before the first run ends.
SECONDS_PER_PROPOSAL = {"bbob": 0.014, "hpobench": 0.022}

# What the paper reports, in our words.
CLAIMS = {
    "bbob": {
        "sawei-paper": "among the first; alpha rises",
        "steps-up": "about as good as SAWEI",
        "switch-25": "good once it has switched",
        "switch-50": "good once it has switched",
        "switch-75": "good once it has switched",
        "pi": "better than EI",
        "wei-explore": "behind",
    },
    "hpobench": {
        "sawei-paper": "among the first; alpha falls",
        "wei-explore": "on par with SAWEI",
        "portfolio": "just behind SAWEI",
        "ei": "just behind SAWEI, better than PI",
        "pi": "behind EI",
    },
}


def sawei(
    suite: Annotated[str, typer.Option(help="bbob or hpobench.")] = "bbob",
    budget: Annotated[str, typer.Option(help="quick (minutes) or paper (hours).")] = "quick",
    out: Out = Path("sawei"),
    jobs: Jobs = 2,
    units: Annotated[bool, typer.Option(help="Also run with another unit of the objective (hpobench).")] = True,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        if (suite, budget) not in PROTOCOLS:
            raise Mistake(f"--suite is bbob or hpobench and --budget is quick or paper; got `{suite}` and `{budget}`.")
        from pellucid_lab.methods.samplers import SCHEDULES
        from pellucid_lab.papers.sawei.schedules import compare
        from pellucid_lab.tables.grids import print_grids

        tasks = _plan(PROTOCOLS[suite, budget], tuple(SCHEDULES))
        runs = _run_all(tasks, out / f"{suite}.jsonl", jobs, quiet, suite)
        comparison = compare(runs)
        text = _markdown(comparison, runs)
        if units and suite == "hpobench":
            text += "\n" + _units(out / "units.jsonl", jobs, quiet)
        write(out / f"{suite}.md", text)
        write(out / f"{suite}.csv", _csv(runs))
        _write_both(out, budget)
        if figures:
            _draw(comparison, out)
        if as_json:
            print_json([asdict(row) for row in comparison.rows])
        elif not quiet:
            print_grids([_grid(comparison)])


def _plan(protocol: Protocol, methods: tuple[str, ...], factors: tuple[str, ...] = ("",)) -> list[RegretTask]:
    from pellucid_lab.problems.suites import find_suite, problem_names
    from pellucid_lab.runs.regret import plan_regret

    chosen = find_suite(protocol.suite)
    names = problem_names(chosen, None, tuple(range(1, 25)), protocol.instances, 8)
    tasks, _ = plan_regret(
        chosen,
        [name + factor for name in names for factor in factors],
        methods,
        protocol.seeds,
        protocol.n_init,
        protocol.n_steps,
        None,
        command_line(),
    )
    return tasks


def _run_all(tasks: list[RegretTask], path: Path, jobs: int, quiet: bool, suite: str) -> list[RegretRun]:
    from pellucid_lab.runs.regret import regret_file, run_regret_task
    from pellucid_lab.runs.runner import complete

    file = regret_file(path)
    missing = file.missing(tasks)
    if missing and not quiet:
        minutes = sum(task.n_steps for task in missing) * SECONDS_PER_PROPOSAL[suite] / jobs / 60
        say(
            f"{len(missing)} of {len(tasks)} runs to do, about {minutes:.0f} minutes on {jobs} processes; "
            f"they are kept in {path}: repeat the command to continue after a stop."
        )
    return complete("runs", run_regret_task, tasks, file, jobs, quiet)


# ---------------------------------------------------------------------- tables


def _grid(comparison: ScheduleComparison) -> Grid:
    from pellucid_lab.tables.grids import Grid

    unit = "log10 regret" if comparison.log_scale else "regret"
    columns = (
        *("schedule", "IQM of ranks", "mean rank", f"final {unit}", "minus EI's"),
        *("alpha after 25 / 50 / 100%", "s/run", "the source"),
    )
    rows = tuple(
        (
            row.method,
            f"{row.iqm_rank:.2f}",
            f"{row.mean_rank:.2f}",
            f"{row.final:.4g}",
            "–" if row.minus_ei is None or row.method == "ei" else f"{row.minus_ei[0]:+.2g} ± {row.minus_ei[1]:.1g}",
            " / ".join(f"{alpha:.2f}" for alpha in row.alpha) or "–",
            f"{row.seconds:.2f}",
            CLAIMS[comparison.suite].get(row.method, ""),
        )
        for row in comparison.rows
    )
    return Grid("", columns, rows)


def _markdown(comparison: ScheduleComparison, runs: list[RegretRun]) -> str:
    from pellucid_lab.tables.grids import page, provenance_of

    title = (
        f"Schedules on {comparison.suite}, {comparison.n_init} + {comparison.n_steps} evaluations, "
        f"{comparison.problems} problems, {comparison.runs} runs per schedule"
    )
    note = (
        "For each problem, the interquartile mean of the regret over seeds is ranked among the schedules; ranks are "
        "averaged over the problems. Differences to EI are means over the problems with their standard error. "
        "Seconds are of asking and telling, without the initial design, on one thread."
    )
    provenance = provenance_of(runs, sum(run.wall_s for run in runs))
    return page(title, [note], [_grid(comparison)], provenance)


def _write_both(out: Path, budget: str) -> None:
    """Mean ranks over both suites, once both have all their runs: they decided the sampler's default."""
    from pellucid_lab.methods.samplers import SCHEDULES
    from pellucid_lab.papers.sawei.schedules import compare
    from pellucid_lab.runs.regret import regret_file
    from pellucid_lab.tables.grids import Grid, page

    comparisons = []
    for suite in ("bbob", "hpobench"):
        tasks = _plan(PROTOCOLS[suite, budget], tuple(SCHEDULES))
        runs = regret_file(out / f"{suite}.jsonl").of(tasks)
        if len(runs) < len(tasks):
            return
        comparisons.append(compare(runs))
    ranks = {
        row.method: [comparison.row(row.method).iqm_rank for comparison in comparisons] for row in comparisons[0].rows
    }
    rows = tuple(
        (method, f"{sum(pair) / 2:.2f}", f"{pair[0]:.2f}", f"{pair[1]:.2f}")
        for method, pair in sorted(ranks.items(), key=lambda item: sum(item[1]))
    )
    grid = Grid("", ("schedule", "mean", "bbob", "hpobench"), rows)
    provenance = f"```sh\n{command_line()}\n```\n"
    write(out / "both.md", page("IQM of final ranks over both suites, best first", [], [grid], provenance))


def _csv(runs: list[RegretRun]) -> str:
    """One line per run, small enough to keep beside the tables: regret and alpha after quarters of the proposals."""
    from pellucid_lab.papers.sawei.schedules import QUARTERS, alpha_at, regret_of

    shares = [f"{q:.0%}" for q in QUARTERS]
    head = ["problem", "method", "seed", *(f"regret {s}" for s in shares), *(f"alpha {s}" for s in shares), "seconds"]
    lines = [",".join(head)]
    for run in sorted(runs, key=lambda run: (run.problem, run.method, run.seed)):
        distance = regret_of(run)
        regrets = [f"{distance[run.n_init + math.ceil(q * run.n_steps) - 1]:.6g}" for q in QUARTERS]
        alphas = [f"{alpha_at(run.trace['alpha'], q):.3g}" if "alpha" in run.trace else "" for q in QUARTERS]
        lines.append(",".join([run.problem, run.method, str(run.seed), *regrets, *alphas, f"{run.sampler_s:.2f}"]))
    return "\n".join(lines) + "\n"


def _units(file: Path, jobs: int, quiet: bool) -> str:
    """The same problems with the objective multiplied by 1000: the effect on alpha and on the search."""
    from pellucid_lab.papers.sawei.schedules import QUARTERS, alpha_at
    from pellucid_lab.tables.grids import Grid, grid_markdown

    tasks = _plan(UNITS, ("sawei-paper", "sawei"), FACTORS)
    runs = {run.key: run for run in _run_all(tasks, file, jobs, quiet, UNITS.suite)}
    rows = []
    for method in ("sawei-paper", "sawei"):
        for factor in FACTORS:
            of_method = [runs[task.key] for task in tasks if task.method == method]
            in_unit = [run for run in of_method if ("*" in run.problem) == bool(factor)]
            alpha = " / ".join(
                f"{sum(alpha_at(run.trace['alpha'], q) for run in in_unit) / len(in_unit):.2f}" for q in QUARTERS
            )
            same = sum(_same_values(run, runs, factor) for run in in_unit)
            unit = "as it is" if not factor else f"times {factor[1:]}"
            rows.append((method, unit, alpha, f"{same} of {len(in_unit)}"))
    columns = (
        *("schedule", "unit", "alpha after 25 / 50 / 100%"),
        "runs with the same values, up to the unit, at every step",
    )
    return "## The same losses in another unit\n\n" + grid_markdown(Grid("", columns, tuple(rows)))


def _same_values(run: RegretRun, runs: dict[RegretKey, RegretRun], factor: str) -> bool:
    if not factor:
        return True
    scale = float(factor[1:])
    plain = runs[(run.suite, run.problem[: -len(factor)], run.method, run.seed, run.n_init, run.n_steps)]
    return all(abs(a - scale * b) <= 1e-9 * abs(a) for a, b in zip(run.values, plain.values, strict=True))


# ---------------------------------------------------------------------- figures


def _draw(comparison: ScheduleComparison, out: Path) -> None:
    load_plots()
    from pellucid_lab.tables import figures

    first = comparison.rows[0].method
    sign = "log10 regret" if comparison.log_scale else "regret"
    shown = {
        "ranks": figures.curves(
            {method: list(ranks) for method, ranks in comparison.rank_over_time.items()},
            title=f"{comparison.suite}: {first} has the best rank at the end ({comparison.rows[0].iqm_rank:.1f} of "
            f"{len(comparison.rows)})",
            x_title="proposals after the initial design",
            y_title="mean rank over the problems (lower is better)",
            bold=(first, "sawei", "sawei-paper"),
        ),
        "final": figures.boxes(
            {row.method: list(comparison.finals[row.method]) for row in comparison.rows},
            title=f"{comparison.suite}: final {sign} by schedule, one point per problem, best rank on top",
            x_title=f"{sign} (interquartile mean over seeds)",
            bold=(first,),
        ),
    }
    traces = {name: comparison.alphas[name] for name in ("sawei-paper", "sawei") if name in comparison.alphas}
    if traces:
        ends = ", ".join(
            f"{name} {'rises' if mid[-1] > mid[0] else 'falls'} to {mid[-1]:.2f}"
            for name, (_, mid, _) in traces.items()
        )
        shown["alpha"] = figures.curves(
            {name: list(mid) for name, (_, mid, _) in traces.items()},
            bands={name: (list(low), list(high)) for name, (low, _, high) in traces.items()},
            title=f"{comparison.suite}: alpha starts at 0.5; {ends}",
            x_title="proposals after the initial design",
            y_title="alpha: 0 explores, 1 exploits (mean, quartiles)",
            bold=tuple(traces),
        )
    for name, figure in shown.items():
        save_figure(figure, out / f"{comparison.suite}-{name}")
