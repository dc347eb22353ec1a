"""Tables of the experiments with networks: what matters, where a cheap value costs accuracy, what searches found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import optuna

from pellucid.answers.importance.analysis import hsic_importance
from pellucid.answers.importance.goals import HsicImportance
from pellucid.answers.intervals import interval_reduction
from pellucid.answers.ranges.advice import parameter_ranges
from pellucid.answers.ranges.records import IntervalReduction
from pellucid.study.goals import best, worst
from pellucid_lab.papers.hsic.searches import METHODS, SearchRun
from pellucid_lab.problems.network_tasks import CHEAP
from pellucid_lab.tables.grids import Grid

# The two methods that are compared in a sentence.
_FULL, _FAST = METHODS[1], METHODS[3]


def analyses(study: optuna.Study) -> tuple[HsicImportance, HsicImportance, list[IntervalReduction]]:
    """Importance for the best tenth and for the worst tenth, and the reduction of every interval with a cheap end."""
    return (
        hsic_importance(study, best(0.1)),
        hsic_importance(study, worst(0.1), pairs=False),
        [interval_reduction(study, name, cheap=end) for name, end in CHEAP.items()],
    )


def importance_grid(towards_best: HsicImportance, towards_worst: HsicImportance) -> Grid:
    worst_by_name = {parameter.name: parameter for parameter in towards_worst.parameters}
    rows = [
        (
            parameter.name + (f" ({parameter.group})" if parameter.group else ""),
            f"{1e3 * parameter.index:.3f} ± {1e3 * parameter.stderr:.3f}",
            f"{1e3 * parameter.null:.3f}",
            f"{parameter.p_adjusted:.3f}",
            parameter.verdict,
            f"{1e3 * worst_by_name[parameter.name].index:.3f}",
            worst_by_name[parameter.name].verdict,
        )
        for parameter in towards_best.parameters
    ]
    columns = ("parameter", "index × 1000", "without effect", "adjusted p", "best tenth", "index × 1000", "worst tenth")
    return Grid(f"What matters, {towards_best.n_trials} random networks", columns, tuple(rows))


def interval_grid(reduction: IntervalReduction) -> Grid:
    rows = [
        (
            f"{cut:g}",
            str(n),
            f"{1e3 * index:.3f} ± {1e3 * stderr:.3f}",
            f"{p:.3f}",
            f"{100 * rate:.0f}",
            f"{100 * base:.0f}",
        )
        for cut, n, index, stderr, p, rate, base in zip(
            reduction.cuts,
            reduction.n_trials,
            reduction.index,
            reduction.stderr,
            reduction.p,
            reduction.rate,
            reduction.base,
            strict=True,
        )
    ]
    columns = (reduction.param, "networks", "index × 1000", "p", "% in the goal at this end", "% of all left")
    return Grid(f"{reduction.param} from … on", columns, tuple(rows))


def search_grid(runs: Sequence[SearchRun], classes: bool) -> Grid:
    """Mean and sd of the test score over repetitions; of the sizes the largest, as in the paper."""
    by_method = {method: [run for run in runs if run.method == method] for method in METHODS}
    fast = max((run.parameters for run in by_method[_FAST]), default=0)
    rows = []
    for method, repetitions in by_method.items():
        if repetitions:
            test = np.array([run.test for run in repetitions])
            shown = 100.0 * (1.0 - test) if classes else 1e4 * test
            score = f"{shown.mean():.4g}" + (f" ± {shown.std(ddof=1):.2g}" if len(repetitions) > 1 else "")
            size = max(run.parameters for run in repetitions)
            rows.append(
                (
                    method, str(len(repetitions)), score, f"{np.median(shown):.4g}", f"{size:,}",
                    f"{int(np.median([run.parameters for run in repetitions])):,}",
                    f"{max(run.flops for run in repetitions):,}", f"{size / fast:.1f}×" if fast else "–",
                )
            )  # fmt: skip
    columns = (
        *("method", "runs", "test accuracy, %" if classes else "test error × 10⁴", "its median"),
        *("parameters (max)", "(median)", "FLOPs (max)", "parameters / two steps with speed"),
    )
    return Grid("What the searches found", columns, tuple(rows))


def bar_sentence(runs: Sequence[SearchRun]) -> str:
    """Whether two steps for speed reach the score of the full search, and with how much smaller networks."""
    full, fast = ([run for run in runs if run.method == method] for method in (_FULL, _FAST))
    if len(full) < 2 or len(fast) < 2:
        return "The searches are not complete."
    full_test, fast_test = np.array([run.test for run in full]), np.array([run.test for run in fast])
    gap = (fast_test.mean() - full_test.mean()) / full_test.std(ddof=1)
    ratio = max(run.parameters for run in full) / max(run.parameters for run in fast)
    middle = np.median([run.parameters for run in full]) / np.median([run.parameters for run in fast])
    return (
        f"Two steps for accuracy and speed against the full search: the test error differs by {gap:+.2f} of the full "
        f"search's standard deviations, with {ratio:.0f} times fewer parameters (largest against largest; "
        f"{middle:.0f} times, median against median)."
    )


def sentences(study: optuna.Study, reductions: Sequence[IntervalReduction], runs: Sequence[SearchRun]) -> list[str]:
    """What the analysis says, and what the two steps decided in every repetition."""
    analysis = [str(reduction) for reduction in reductions] + [str(advice) for advice in parameter_ranges(study).advice]
    two_steps = [run for run in sorted(runs, key=lambda run: run.repetition) if run.method == _FAST]
    return analysis + [f"Repetition {run.repetition}: {run.words}" for run in two_steps]
