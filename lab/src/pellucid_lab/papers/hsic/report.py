"""The experiments with networks in tables: what matters, where being cheap begins to cost, and what searches found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import optuna

from pellucid.explain.importance.analysis import hsic_importance
from pellucid.explain.intervals import interval_reduction
from pellucid.explain.ranges import parameter_ranges
from pellucid.goals import best, worst
from pellucid.records import HsicImportance, IntervalReduction
from pellucid_lab.papers.hsic.searches import METHODS, Found
from pellucid_lab.problems.network_tasks import CHEAP
from pellucid_lab.tables.output import Grid

_FULL, _FAST = METHODS[1], METHODS[3]


def analyses(study: optuna.Study) -> tuple[HsicImportance, HsicImportance, list[IntervalReduction]]:
    """Towards the best tenth and the worst tenth, and the reduction of every interval with a cheap end."""
    return (
        hsic_importance(study, best(0.1)),
        hsic_importance(study, worst(0.1), pairs=False),
        [interval_reduction(study, name, cheap=end) for name, end in CHEAP.items()],
    )


def importance_grid(towards_best: HsicImportance, towards_worst: HsicImportance) -> Grid:
    other = {one.name: one for one in towards_worst.parameters}
    rows = [
        (
            one.name + (f" ({one.group})" if one.group else ""),
            f"{1e3 * one.index:.3f} ± {1e3 * one.stderr:.3f}",
            f"{1e3 * one.null:.3f}",
            f"{one.p_adjusted:.3f}",
            one.verdict,
            f"{1e3 * other[one.name].index:.3f}",
            other[one.name].verdict,
        )
        for one in towards_best.parameters
    ]
    heads = ("parameter", "index × 1000", "without effect", "adjusted p", "best tenth", "index × 1000", "worst tenth")
    return Grid(f"What matters, {towards_best.n_trials} random networks", heads, tuple(rows))


def interval_grid(found: IntervalReduction) -> Grid:
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
            found.cuts, found.n_trials, found.index, found.stderr, found.p, found.rate, found.base, strict=True
        )
    ]
    heads = (found.param, "networks", "index × 1000", "p", "% in the goal at this end", "% of all left")
    return Grid(f"{found.param} from … on", heads, tuple(rows))


def search_grid(searches: Sequence[Found], classes: bool) -> Grid:
    """Mean and sd of the test score over repetitions; of sizes the largest, as the source reports them."""
    by = {method: [one for one in searches if one.method == method] for method in METHODS}
    fast = max((one.parameters for one in by[_FAST]), default=0)
    rows = []
    for method, mine in by.items():
        if mine:
            test = np.array([one.test for one in mine])
            shown = 100.0 * (1.0 - test) if classes else 1e4 * test
            score = f"{shown.mean():.4g}" + (f" ± {shown.std(ddof=1):.2g}" if len(mine) > 1 else "")
            size = max(one.parameters for one in mine)
            rows.append(
                (
                    method, str(len(mine)), score, f"{np.median(shown):.4g}", f"{size:,}",
                    f"{int(np.median([one.parameters for one in mine])):,}",
                    f"{max(one.flops for one in mine):,}", f"{size / fast:.1f}×" if fast else "–",
                )
            )  # fmt: skip
    score = "test accuracy, %" if classes else "test error × 10⁴"
    heads = (
        "method",
        "runs",
        score,
        "its median",
        "parameters (max)",
        "(median)",
        "FLOPs (max)",
        "parameters / two steps with speed",
    )
    return Grid("What the searches found", heads, tuple(rows))


def bar_sentence(searches: Sequence[Found]) -> str:
    """Whether two steps for speed reach the score of the full search, and with how much smaller networks."""
    full, fast = ([one for one in searches if one.method == method] for method in (_FULL, _FAST))
    if len(full) < 2 or len(fast) < 2:
        return "The searches are not complete."
    theirs, mine = np.array([one.test for one in full]), np.array([one.test for one in fast])
    gap = (mine.mean() - theirs.mean()) / theirs.std(ddof=1)
    ratio = max(one.parameters for one in full) / max(one.parameters for one in fast)
    middle = np.median([one.parameters for one in full]) / np.median([one.parameters for one in fast])
    return (
        f"Two steps for accuracy and speed against the full search: test error {gap:+.2f} of its standard deviations, "
        f"{ratio:.0f} times fewer parameters (largest against largest; {middle:.0f} times, median against median)."
    )


def sentences(study: optuna.Study, reductions: Sequence[IntervalReduction], searches: Sequence[Found]) -> list[str]:
    """What the analysis says, and what the two steps decided in every repetition."""
    out = [str(one) for one in reductions] + [str(one) for one in parameter_ranges(study).advice]
    plans = [one for one in sorted(searches, key=lambda one: one.repetition) if one.method == _FAST]
    return out + [f"Repetition {one.repetition}: {one.words}" for one in plans]
