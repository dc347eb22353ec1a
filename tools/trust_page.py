"""Write docs/trust.md: the measured error rates, copied from the committed tables in lab/results.

    python tools/trust_page.py

The text is here, the figures are in the tables: `tests/docs/test_site.py` fails if the page is not what this writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "trust.md"
RESULTS = ROOT / "lab" / "results"
# The names of samplers in the tables, and as users know them.
SAMPLERS = {"pellucid": "BayesianSampler", "optuna-tpe": "TPE", "optuna-gp": "GPSampler", "random": "random search"}


@dataclass(frozen=True)
class Section:
    """A table of a file in lab/results under a heading of this page."""

    heading: str
    text: str
    file: str
    title: str


SECTIONS = (
    Section(
        "Importance",
        "Agreement of `importance` with the true total index after 60 and 100 trials, beside Optuna's fANOVA: "
        "rank correlation (Spearman), and how often the first parameter is the right one. *Conditional*: the same "
        "inside the branches of a choice.",
        "truth/after.md",
        "Importance: agreement with the true total index, 60 and 100 trials",
    ),
    Section(
        "“Matters” and “no effect”",
        "A *dummy* is a parameter without any effect. *Total > 0.3* is a parameter that accounts for more than "
        "30% of the variance. The first two columns are errors, the last two say how often the right verdict is "
        "given.",
        "truth/after.md",
        "Importance: verdicts, all sizes",
    ),
    Section(
        "Shares and ranks",
        "How often the true total index is inside the 95% interval of its share, how often it is above the “at most” "
        "of a parameter that hardly matters, and how often the parameter that “matters most”, or “probably” does, is "
        "the right one. The words were chosen after a look at the studies above, so these are 84 others: all "
        "problems with a seed that had not been used.",
        "truth/fresh.md",
        "Importance: shares and ranks, all sizes",
    ),
    Section(
        "The interval of a recommendation",
        "How often the 95% interval of `recommend` holds the true value. The last column is the width at 40, 60, "
        "100 and 150 trials, as a multiple of the width that an ideal interval has.",
        "truth/after.md",
        "Recommendation: coverage of the 95% interval",
    ),
    Section(
        "Predictions in receipts",
        "How often the value of a trial is inside the 95% interval that its receipt had predicted.",
        "truth/after.md",
        "Receipts: values inside the 95% prediction",
    ),
    Section(
        "Bands of average effects",
        "The share of the true curve that is inside the 95% band of `partial_dependence`.",
        "truth/after.md",
        "Partial dependence: share of the curve inside its 95% band",
    ),
    Section(
        "Bands of profiles",
        "The same for `profile_effect`.",
        "truth/after.md",
        "Profile effect: share of the curve inside its 95% band",
    ),
    Section(
        "What other values cost",
        "A profile says what worse values of a number cost: “expect values up to 0.01 to be at least 0.3 worse”. How "
        "often the best of them costs less than that, or less than half of it, in the same 84 other studies.",
        "truth/fresh.md",
        "Profile effect: “expect … to be at least … worse”",
    ),
    Section(
        "Stops",
        "How often `stopping_verdict` says stop, and how often more than the tolerance was left then. *Deceptive* "
        "problems hide their optimum. Most errors are on one of them, `narrow`: see the next table.",
        "truth/after.md",
        "Stopping: regret above the tolerance when it says stop",
    ),
    Section(
        "Stops by problem",
        "Wrong stops of all stops; in brackets, the number of studies. In `narrow` a wide basin hides a deeper "
        "well of a few percent of the range in two of three parameters: nothing in trials that did not hit the "
        "well tells it from a smooth function.",
        "truth/after.md",
        "Stopping: wrong stops, of all stops (of all studies)",
    ),
    Section(
        "“Roughly N more trials”",
        "What a verdict to continue says about the trials that are still needed.",
        "truth/after.md",
        "Stopping: “roughly N more trials” (ours, given tolerance)",
    ),
    Section(
        "Advice about ranges",
        "`parameter_ranges`: right widenings that were found, and wrong advice.",
        "truth/after.md",
        "Ranges: advice at 40, 60, 100 and 150 trials",
    ),
    Section(
        "The verdict of `calibration`",
        "What `calibration` said, and how the next 30 predictions came out.",
        "truth/after.md",
        "Calibration: what it said, and what came next (ours)",
    ),
    Section(
        "Seconds",
        "Seconds per answer about a study of 100 trials.",
        "truth/after.md",
        "Seconds at 100 trials",
    ),
)

OPENING = """\
---
hide: [navigation]
---

# How far to trust it

Every answer states an uncertainty or a verdict. Each of them was compared with the truth on problems whose truth is
known. This page has the measured rates. The tables are copied from `lab/results` by `tools/trust_page.py`; nothing is
entered by hand.

{summary}
Nine other problems were used to choose rules and constants. ± is one standard error, and the number of cases is in
brackets. *Exact* means without noise; *noisy* means noise of a tenth of the distance from a typical value to the
optimum. Widths are shares of that distance.

In short:

- Importance, intervals and bands can be trusted in studies like these. A parameter without an effect was rarely said
  to matter, and no parameter with a large effect was said to have none.
- What a profile says worse values cost is too much in one of eight cases, mostly where the optimum is hidden or where
  the best value of one parameter depends on another.
- A stop is the least certain answer. The model cannot see an optimum that no trial has come near.
- Answers about a few dozen trials are provisional. Read their notes.
"""

CLOSING = """\
## Constraints

From `lab/results/constrained`: eleven problems, ten seeds, 60 trials.

{constrained}

## Several objectives

From `lab/results/moo` and `lab/results/fronts`: problems with two or three objectives whose fronts are known.

{fronts}

## Learning curves

From `lab/results/curves`: networks of lcbench and three real trainings that can be stopped early.

{curves}

## What falls short, and why

From `lab/results/truth`:

{shortcomings}
"""


def table(file: str, title: str) -> str:
    """The table under a heading of a file."""
    text = (RESULTS / file).read_text(encoding="utf-8")
    section = text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return "\n".join(readable(rows))


def readable(rows: Iterable[str]) -> list[str]:
    """The rows with the names of samplers as users know them."""
    return [re.sub(r"^\| ([\w-]+)(?=[ ,])", lambda name: f"| {SAMPLERS.get(name[1], name[1])}", row) for row in rows]


def bullets(file: str, heading: str, beginnings: tuple[str, ...] | None = None) -> str:
    """The list under a heading, or its items that begin with one of these words."""
    text = (RESULTS / file).read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    items = re.findall(r"^- .*?(?=^- |\Z)", text, re.MULTILINE | re.DOTALL)
    return "\n".join(
        item.strip() for item in items if beginnings is None or item.startswith(tuple(f"- **{b}" for b in beginnings))
    )


def page() -> str:
    summary = (RESULTS / "truth" / "after.md").read_text(encoding="utf-8").splitlines()[2].split(" ± is")[0]
    parts = [OPENING.format(summary=summary)]
    parts += [f"## {s.heading}\n\n{s.text}\n\n{table(s.file, s.title)}\n" for s in SECTIONS]
    members = ("Predictions", "Chances", "Dense fronts", "Gains", "95% intervals", "Compromises", "Roles")
    fronts = (
        bullets("moo/README.md", "What was found", ("Stops",)),
        bullets("fronts/README.md", "What was found", members),
    )
    parts.append(
        CLOSING.format(
            constrained=bullets("constrained/README.md", "What was found", ("Stated chances", "Stops")),
            fronts="\n".join(fronts),
            curves=bullets("curves/README.md", "What was found", ("Winners", "Chances", "95% intervals")),
            shortcomings=bullets("truth/README.md", "What falls short, and why"),
        )
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
