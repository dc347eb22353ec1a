"""``pellucid reproduce sawei``: the schedules that SAWEI was compared with, again."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import FAILED, say, sentences
from pellucid_lab.base import Job
from pellucid_lab.terminal import command_line, load_plots, save_figure, write

if TYPE_CHECKING:
    from pellucid_lab.papers.sawei.schedules import Comparison
    from pellucid_lab.runs.results import Run


@dataclass(frozen=True)
class Protocol:
    """Problems and budget of one campaign; ``instances`` matter to bbob alone."""

    suite: str
    n_init: int
    n_steps: int
    seeds: tuple[int, ...]
    instances: tuple[int, ...] = ()


PROTOCOLS = {
    # Our SAWEI was designed on BBOB instances 4 and 5 and on seeds from 10 upwards of HPOBench, not on these.
    ("bbob", "quick"): Protocol("bbob", 24, 100, (0, 1, 2), (2, 3)),
    ("hpobench", "quick"): Protocol("hpobench", 15, 100, tuple(range(5))),
    ("bbob", "paper"): Protocol("bbob", 24, 256, tuple(range(10)), (1, 2, 3)),
    ("hpobench", "paper"): Protocol("hpobench", 15, 100, tuple(range(10))),
}
UNITS = Protocol("hpobench", 15, 100, (0, 1))
FACTORS = ("", "*1000")
# Seconds per proposal here, on one core: enough for an estimate before the first run has ended.
SECONDS_PER_PROPOSAL = {"bbob": 0.014, "hpobench": 0.022}

# What the source reports, in our words.
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
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("sawei"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 2,
    units: Annotated[bool, typer.Option(help="Also show what another unit of the objective does (hpobench).")] = True,
    figures: Annotated[bool, typer.Option(help="Draw the figures (needs the plots extra).")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table, only errors.")] = False,
) -> None:
    """SAWEI and the schedules it was compared with: ranks over time, final regret and traces of alpha."""
    with sentences():
        if (suite, budget) not in PROTOCOLS:
            raise Mistake(f"--suite is bbob or hpobench and --budget is quick or paper; got `{suite}` and `{budget}`.")
        from pellucid_lab.methods.samplers import SCHEDULES
        from pellucid_lab.papers.sawei.schedules import compare
        from pellucid_lab.runs.results import read_runs

        file = out / f"{suite}.jsonl"
        planned = _plan(PROTOCOLS[suite, budget], tuple(SCHEDULES))
        _run_all(planned, file, jobs, quiet, suite)
        wanted = {job.key for job in planned}
        runs = [run for run in read_runs(file) if run.key in wanted]
        comparison = compare(runs)
        parts = [_markdown(comparison, runs)]
        if units and suite == "hpobench":
            parts.append(_units(out / "units.jsonl", jobs, quiet))
        write(out / f"{suite}.md", "\n".join(parts))
        write(out / f"{suite}.csv", _csv(runs))
        _write_both(out, budget)
        if figures:
            _draw(comparison, out)
        if as_json:
            typer.echo(json.dumps([asdict(row) for row in comparison.rows]))
        elif not quiet:
            from rich.console import Console
            from rich.markdown import Markdown

            Console().print(Markdown(_grid(comparison)))


def _plan(protocol: Protocol, methods: tuple[str, ...], factors: tuple[str, ...] = ("",)) -> list[Job]:
    from pellucid_lab.problems.suites import find_suite, problem_names
    from pellucid_lab.runs.runner import plan_jobs

    chosen = find_suite(protocol.suite)
    names = problem_names(chosen, None, tuple(range(1, 25)), protocol.instances, 8)
    planned, _ = plan_jobs(
        chosen,
        [name + factor for name in names for factor in factors],
        methods,
        protocol.seeds,
        protocol.n_init,
        protocol.n_steps,
        None,
        command_line(),
    )
    return planned


def _run_all(planned: list[Job], file: Path, jobs: int, quiet: bool, suite: str) -> None:
    from pellucid_lab.runs.runner import pending

    left = pending(planned, file)
    if left and not quiet:
        minutes = sum(job.n_steps for job in left) * SECONDS_PER_PROPOSAL[suite] / jobs / 60
        say(
            f"{len(left)} of {len(planned)} runs to do, about {minutes:.0f} minutes on {jobs} processes; "
            f"they are kept in {file}, and the same command continues after a stop."
        )
    from pellucid_lab.runs.planned import run_planned

    failures = run_planned(planned, file, jobs, quiet)
    if failures:
        say(f"{len(failures)} runs failed; repeat the command to try them again. The first: {failures[0].error}")
        raise typer.Exit(FAILED)


# ---------------------------------------------------------------------- tables


def _grid(comparison: Comparison) -> str:
    unit = "log10 regret" if comparison.log_scale else "regret"
    lines = [
        f"| schedule | IQM of ranks | mean rank | final {unit} | minus EI's | alpha after 25 / 50 / 100 % | s/run "
        "| the source |",
        "| --- | ---: | ---: | ---: | :---: | :---: | ---: | --- |",
    ]
    for row in comparison.rows:
        alpha = " / ".join(f"{a:.2f}" for a in row.alpha) or "–"
        claim = CLAIMS[comparison.suite].get(row.method, "")
        known = row.minus_ei is not None and row.method != "ei"
        minus = f"{row.minus_ei[0]:+.2g} ± {row.minus_ei[1]:.1g}" if known and row.minus_ei is not None else "–"
        lines.append(
            f"| {row.method} | {row.iqm_rank:.2f} | {row.mean_rank:.2f} | {row.final:.4g} | {minus} | {alpha} "
            f"| {row.seconds:.2f} | {claim} |"
        )
    return "\n".join(lines) + "\n"


def _markdown(comparison: Comparison, runs: list[Run]) -> str:
    wall = sum(run.wall_s for run in runs)
    dates = sorted(run.date for run in runs)
    versions = ", ".join(f"{name} {version}" for name, version in runs[0].versions.items())
    commands = "\n".join(dict.fromkeys(run.command for run in runs))
    return (
        f"# Schedules on {comparison.suite}, {comparison.n_init} + {comparison.n_steps} evaluations, "
        f"{comparison.problems} problems, {comparison.runs} runs per schedule\n\n"
        "Per problem, the interquartile mean of the regret over seeds is ranked among the schedules; ranks are "
        "averaged over the problems. Differences to EI are means over the problems with their standard error. "
        "Seconds are of asking and telling, initial design excluded, one thread.\n\n"
        f"{_grid(comparison)}\n"
        f"```sh\n{commands}\n```\n\n"
        f"{dates[0]} to {dates[-1]}, {wall / 60:.0f} minutes of one core · {versions} · {runs[0].machine}\n"
    )


def _write_both(out: Path, budget: str) -> None:
    """The mean over both suites, once both have all their runs: what decides about the sampler's default."""
    from pellucid_lab.methods.samplers import SCHEDULES
    from pellucid_lab.papers.sawei.schedules import compare
    from pellucid_lab.runs.results import read_runs

    found = []
    for suite in ("bbob", "hpobench"):
        wanted = {job.key for job in _plan(PROTOCOLS[suite, budget], tuple(SCHEDULES))}
        runs = [run for run in read_runs(out / f"{suite}.jsonl") if run.key in wanted]
        if len(runs) < len(wanted):
            return
        found.append(compare(runs))
    ranks = {row.method: [one.row(row.method).iqm_rank for one in found] for row in found[0].rows}
    lines = [
        "# IQM of final ranks over both suites, best first",
        "",
        "| schedule | mean | bbob | hpobench |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {method} | {sum(pair) / 2:.2f} | {pair[0]:.2f} | {pair[1]:.2f} |"
            for method, pair in sorted(ranks.items(), key=lambda item: sum(item[1]))
        ),
        "",
        f"```sh\n{command_line()}\n```",
    ]
    write(out / "both.md", "\n".join(lines) + "\n")


def _csv(runs: list[Run]) -> str:
    """One line per run, small enough to keep beside the tables: regret and alpha after quarters of the proposals."""
    from pellucid_lab.papers.sawei.schedules import QUARTERS, alpha_at, regret_of

    shares = [f"{q:.0%}" for q in QUARTERS]
    head = ["problem", "method", "seed", *(f"regret {s}" for s in shares), *(f"alpha {s}" for s in shares), "seconds"]
    lines = [",".join(head)]
    for run in sorted(runs, key=lambda run: (run.problem, run.method, run.seed)):
        distance = regret_of(run)
        regrets = [f"{distance[run.n_init + math.ceil(q * run.n_steps) - 1]:.6g}" for q in QUARTERS]
        alphas = [f"{alpha_at(run.trace['alpha'], q):.3g}" if "alpha" in run.trace else "" for q in QUARTERS]
        seconds = sum(run.ask_s[run.n_init :]) + sum(run.tell_s[run.n_init :])
        lines.append(",".join([run.problem, run.method, str(run.seed), *regrets, *alphas, f"{seconds:.2f}"]))
    return "\n".join(lines) + "\n"


def _units(file: Path, jobs: int, quiet: bool) -> str:
    """The same problems with the objective multiplied by 1000: what becomes of alpha and of the search."""
    from pellucid_lab.papers.sawei.schedules import QUARTERS, alpha_at
    from pellucid_lab.runs.results import read_runs

    planned = _plan(UNITS, ("sawei-paper", "sawei"), FACTORS)
    _run_all(planned, file, jobs, quiet, UNITS.suite)
    runs = {run.key: run for run in read_runs(file)}
    lines = [
        "## The same losses in another unit\n",
        "| schedule | unit | alpha after 25 / 50 / 100 % | runs with the same values, up to the unit, at every step |",
        "| --- | --- | :---: | ---: |",
    ]
    for method in ("sawei-paper", "sawei"):
        for factor in FACTORS:
            of_method = [runs[job.key] for job in planned if job.method == method]
            mine = [run for run in of_method if ("*" in run.problem) == bool(factor)]
            alpha = " / ".join(
                f"{sum(alpha_at(run.trace['alpha'], q) for run in mine) / len(mine):.2f}" for q in QUARTERS
            )
            same = sum(_same_values(run, runs, factor) for run in mine)
            unit = "as it is" if not factor else f"times {factor[1:]}"
            lines.append(f"| {method} | {unit} | {alpha} | {same} of {len(mine)} |")
    return "\n".join(lines) + "\n"


def _same_values(run: Run, runs: dict[tuple[str, str, str, int, int, int], Run], factor: str) -> bool:
    if not factor:
        return True
    scale = float(factor[1:])
    plain = runs[(run.suite, run.problem[: -len(factor)], run.method, run.seed, run.n_init, run.n_steps)]
    return all(abs(a - scale * b) <= 1e-9 * abs(a) for a, b in zip(run.values, plain.values, strict=True))


# ---------------------------------------------------------------------- figures


def _draw(comparison: Comparison, out: Path) -> None:
    plots = load_plots()
    first = comparison.rows[0].method
    sign = "log10 regret" if comparison.log_scale else "regret"
    shown = {
        "ranks": plots.curves(
            {method: list(ranks) for method, ranks in comparison.rank_over_time.items()},
            title=f"{comparison.suite}: {first} has the best rank at the end ({comparison.rows[0].iqm_rank:.1f} of "
            f"{len(comparison.rows)})",
            x_title="proposals after the initial design",
            y_title="mean rank over the problems (lower is better)",
            bold=(first, "sawei", "sawei-paper"),
        ),
        "final": plots.boxes(
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
        shown["alpha"] = plots.curves(
            {name: list(mid) for name, (_, mid, _) in traces.items()},
            bands={name: (list(low), list(high)) for name, (low, _, high) in traces.items()},
            title=f"{comparison.suite}: alpha starts at 0.5; {ends}",
            x_title="proposals after the initial design",
            y_title="alpha: 0 explores, 1 exploits (mean, quartiles)",
            bold=tuple(traces),
        )
    for name, figure in shown.items():
        save_figure(figure, out / f"{comparison.suite}-{name}")
