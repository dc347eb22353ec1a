"""Measured numbers on the site and in the README are those of the tables in lab/results.

Each quote names the file that its numbers are from and the rows or sentences there. If a table is made again, change
the page and this list; a percentage, a ratio or a decimal number that is in no quote is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.helpers import ROOT
from tests.pages import DOCS

RESULTS = ROOT / "lab" / "results"
# Pages whose numbers other tests keep: written by tools, or without any.
WRITTEN = {"trust.md", "api.md", "json.md"}
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page.name not in WRITTEN)]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)")
# Percentages, ratios, decimal numbers, milliseconds, and the first two of "40, 6".
_MEASURED = re.compile(r"\d+(?:\.\d+)?\s?%|\d+ times\b|(?<![\w.])\d*\.\d+(?![\w.])|\d+ ms\b|(?<=\| )\d+, \d+")

# What is no measurement: versions, levels, defaults, units of an example.
ALLOWED = (
    *("Python 3.10", "release candidate of 1.0", "Optuna 4.5", "Optuna 4.9", "Ray 2.60", "Ray 2.41"),
    "distributed 2026.8",
    *("optuna-integration 5.0", "MariaDB 10.11", "95% interval", "95% band", "95% of the true curve", "95% of values"),
    *("or 3% of what tuning has gained so far", "known to ±0.05", "doi:10.1007"),
)


@dataclass(frozen=True)
class Quote:
    """Words of a page, a file in lab/results, and the words there that say the same."""

    page: str
    words: str
    file: str
    sources: tuple[str, ...]


SPEED = ("| 50 | 4.2 (35) | 167.1 (35)", "| 39.6× |", "| 23.9× |", "| 1000 | 58.9 (35) | 1623.6 (6)")
LARGE = (
    "| one objective | 20,000 | report | 6.7 | 1.2 | 341 |",
    "| a constraint | 20,000 | report | 14.4 |",
    "| two objectives | 20,000 | report | 14.5 |",
    "| all proposed by pellucid | 20,000 | report | 10.1 | 1.2 | 748 |",
    "| all proposed by pellucid | 20,000 | publish | 11.3 | 1.2 | 1012 |",
)
QUOTES = (
    Quote(
        "docs/faq.md",
        "At 20,000 trials a report takes 7 to 15 s of one core and 341 to 748 MB",
        "report/large.md",
        LARGE,
    ),
    Quote("docs/faq.md", "`publish` takes up to 1,012 MB", "report/large.md", LARGE),
    Quote(
        "docs/coming-from.md",
        "4 ms per proposal after 50 trials and 59 ms after 1,000; GPSampler needs 24 to 40 times as long",
        "engine/latency.md",
        SPEED,
    ),
    Quote(
        "docs/search.md",
        "A proposal takes 4 ms after 50 trials and 59 ms after 1,000; GPSampler needs 24 to 40 times as long",
        "engine/latency.md",
        SPEED,
    ),
    Quote(
        "docs/search.md",
        "24 functions, 2 instances, 24 + 76 evaluations | 40, 6 | 40, 8 |",
        "engine/bbob.md",
        ("| optuna-gp | 40 | 2 | 6 |", "| optuna-tpe | 40 | 0 | 8 |"),
    ),
    Quote(
        "docs/search.md",
        "HPOBench tables, 8 tasks, 10 seeds, 15 + 50 evaluations | 58, 15 | 59, 17 |",
        "engine/hpobench.md",
        ("| optuna-gp | 58 | 7 | 15 |", "| optuna-tpe | 59 | 4 | 17 |"),
    ),
    Quote(
        "docs/search.md",
        "10 tasks, 10 seeds, 20 + 60 evaluations | 77, 18 | 88, 8 |",
        "engine/rbv2.md",
        ("| optuna-gp | 77 | 5 | 18 |", "| optuna-tpe | 88 | 4 | 8 |"),
    ),
    Quote(
        "docs/search.md",
        "pellucid in four and five of ten. These are the last of several tables made while the engine changed: on "
        "HPOBench, wins per loss against GPSampler ranged from 2.8 to 3.9",
        "engine/README.md",
        ("in four and five of ten runs", "were 2.8, 3.7, 2.9 (all with EI), 3.8 (`LCB(2.0)`), 2.8", "and 3.9 (the"),
    ),
    Quote(
        "docs/search.md",
        "against GPSampler 1.6 wins per loss in 2 dimensions, 2.1 in 3 and 3.6 to 6.5 in 5 to 20; against TPE 2.4 in 2 "
        "dimensions and 5 or more in the others",
        "search/bbob.md",
        ("| optuna-tpe | 34 | 0 | 14 | 2.4 |", "| optuna-gp | 28 | 2 | 18 | 1.6 |", "| 2.1 |", "| 3.6 |", "| 6.5 |"),
    ),
    Quote(
        "docs/search.md",
        "We win 15 against Ax and Vizier, and 13 against BoTorch, HEBO and SMAC, in 0.3 s a run where they take 37 to "
        "113 s",
        "engine/README.md",
        (
            "we win 15 against Ax and Vizier and 13 against BoTorch, HEBO and SMAC, in 0.3 s a run where they take 37 "
            "to 113 s",
        ),
    ),
    Quote(
        "docs/search.md",
        "found within 60 trials in 31 of 32 runs. The best of six was found within 100 in 31 of 32, and a needle among "
        "six in 12 of 16. TPE found 6 of these 96 within 100 trials, GPSampler none",
        "search/README.md",
        ("31 of 32 runs and of six within 100 in 31 of 32", "in 12 of 16", "in 6 of all 96", "GPSampler in none"),
    ),
    Quote(
        "docs/search.md",
        "level with TPE after 60 trials (40 wins, 40 losses) and ahead of GPSampler (75, 19)",
        "search/models.md",
        ("| optuna-tpe | 40 | 16 | 40 |", "| optuna-gp | 75 | 2 | 19 |"),
    ),
    Quote(
        "docs/guides/constraints.md",
        "our wins, losses | | 70, 40 | 98, 12 |",
        "constrained/reported.md",
        ("| optuna-gp | 70 | 0 | 40 |", "| optuna-tpe | 98 | 0 | 12 |"),
    ),
    Quote(
        "docs/guides/constraints.md",
        "optimum on a boundary | 79% | 43% | 39% | | Milliseconds an ask | 16.9 | 304 | 1.9 |",
        "constrained/reported.md",
        ("| 79% | 96% | 16.9 |", "| 43% | 80% | 304.0 |", "| 39% | 84% | 1.9 |"),
    ),
    Quote(
        "docs/guides/curves.md",
        "| TPE | 0.124, 0.101, 0.089 | 0.108, 0.085, 0.077 |",
        "curves/reported.md",
        ("| optuna-tpe+none | 0.1244 | 0.1010 | 0.0885 |", "| optuna-tpe+curve | 0.1084 | 0.0849 | 0.0766 |"),
    ),
    Quote(
        "docs/guides/curves.md",
        "| `BayesianSampler` | 0.124, 0.073, 0.034 | 0.089, 0.068, 0.047 |",
        "curves/reported.md",
        ("| pellucid+none | 0.1244 | 0.0729 | 0.0341 |", "| pellucid+curve | 0.0889 | 0.0682 | 0.0474 |"),
    ),
    Quote(
        "docs/guides/curves.md",
        "later no gain can be told from chance (+0.013 ± 0.011 after 2,080 epochs)",
        "curves/README.md",
        ("+0.013 ± 0.011)",),
    ),
    Quote(
        "docs/guides/curves.md",
        "Hyperband has better means (0.096, 0.079, 0.070)",
        "curves/reported.md",
        ("| optuna-tpe+hyperband | 0.0956 | 0.0787 | 0.0698 |",),
    ),
    Quote(
        "docs/guides/curves.md",
        "stopped in none of 70 runs of lcbench and in one of 30 of the trainings. In studies of 60 trials it was 6 of "
        "105 (lcbench) and 4 of 45 (trainings): a little more than promised. Optuna's pruners that save as "
        "much lose it "
        "in 34% to 94% of the runs of lcbench",
        "curves/README.md",
        ("none of 70 runs of lcbench and one of 30", "6 of 105 studies", "in 4 of 45", "34% to 94% of the runs"),
    ),
    Quote(
        "docs/guides/curves.md",
        "Chances below 1%, by which trials are stopped, came true in 0.53% of cases on lcbench (said 0.49%) "
        "and in 1.17% "
        "on the trainings (said 0.45%)",
        "curves/forecasts.md",
        ("| 16363 | 0.49% | 0.53% |", "| 7864 | 0.45% | 1.17% |"),
    ),
    Quote(
        "docs/guides/curves.md",
        "Chances from 30% to 80% are 7 to 18 points too high on lcbench",
        "curves/forecasts.md",
        ("| 10541 | 35.03% | 28.13% |", "| 12202 | 45.37% | 27.36% |"),
    ),
    Quote(
        "docs/guides/curves.md",
        "95% intervals cover 97.3% and 96.4%",
        "curves/forecasts.md",
        ("97.3% of 120042", "96.4% of"),
    ),
    Quote(
        "docs/guides/earlier.md",
        "| RandomSampler | .552, .271, .255, .228 | .397, .201, .169, .127 | "
        "| TPESampler | .552, .271, .219, .161 | .397, .201, .160, .121 | "
        "| BayesianSampler | .556, .293, .173, .094 | .383, .203, .142, .076 | "
        "| RankingSampler | .192, .085, .054, .023 | .139, .066, .034, .015 |",
        "ranking/README.md",
        (
            "| RandomSampler | .552 / .271 / .255 / .228 | .397 / .201 / .169 / .127 |",
            "| TPESampler | .552 / .271 / .219 / .161 | .397 / .201 / .160 / .121 |",
            "| BayesianSampler | .556 / .293 / .173 / .094 | .383 / .203 / .142 / .076 |",
            "| **RankingSampler** | **.192** / .085 / .054 / .023 | **.139 / .066 / .034 / .015** |",
        ),
    ),
    Quote(
        "docs/guides/earlier.md",
        "A proposal takes up to 0.3 s",
        "ranking/speed.md",
        ("| rbv2_xgboost | 14 | 50 | 42 | 11 | 0.226 | 0.277 |",),
    ),
    Quote(
        "docs/guides/matters.md",
        "took 48 evaluations on average, against 86 for `every=2` and 61 for random search (runs that never got there "
        "count as 150). It cost 0.6 points of final accuracy against EI, and 0.2 with `every=2`",
        "bobax/fitted-lcbench.md",
        ("| a-bobax-first | 47.6*", "| 11.79 |", "| a-bobax | 86.1 |", "| 11.36 |", "| rs | 61.3 |", "| 11.18 |"),
    ),
    Quote(
        "docs/guides/ranges.md",
        "2% to 11% of the advice was wrong, depending on the sampler that ran the study, and none of 186 pieces of "
        "advice removed the optimum",
        "truth/after.md",
        (
            "| 0.109 ± 0.030 (110) | 0.126 ± 0.034 (95) | 0.000 ± 0.000 (15) |",
            "| 0.045 ± 0.020 (111) | 0.049 ± 0.021 (102) | 0.000 ± 0.000 (9) |",
            "| 0.024 ± 0.024 (41) | 0.031 ± 0.031 (32) | 0.000 ± 0.000 (9) |",
            "| 0.023 ± 0.010 (222) | 0.072 ± 0.031 (69) | 0.000 ± 0.000 (153) |",
        ),
    ),
    Quote(
        "docs/guides/ranges.md",
        "at most 0.99 standard deviations worse than that of a full search, with 16, 33 and 28 times fewer "
        "parameters in "
        "the largest network (6, 40 and 11 times comparing medians)",
        "hsic/README.md",
        ("| +0.99 | 16 |", "| +0.59 | 33 |", "| -0.37 | 28 |", "the factors are 6, 40 and 11"),
    ),
    Quote(
        "docs/guides/stop.md",
        "with a budget of 100 trials, a tolerance of 0.02 used 55% of the budget on average; the other 45% would have "
        "brought 0.0023 on average and 0.0150 at most",
        "sawei/stopping-wide.md",
        ("tolerance 0.02, budget 100 trials", "| all | 40 | 55% | 0.00231 | 0.01497 |"),
    ),
    Quote(
        "docs/guides/stop.md",
        "A tolerance of 0.005 used 98%",
        "sawei/stopping.md",
        ("tolerance 0.005, budget 100 trials", "| all | 40 | 98% | 0.00000 | 0.00016 |"),
    ),
    Quote(
        "docs/guides/tradeoffs.md",
        "our wins, losses | 115, 19 | 142, 18 | 150, 10 | | Volume after 100 trials: our wins, losses | 117, 17 | 143, "
        "17 | 153, 7 |",
        "moo/reported.md",
        (
            "| optuna-gp | 115/0/19 | 6.1 | 117/0/17 |",
            "| optuna-tpe | 142/0/18 | 7.9 | 143/0/17 |",
            "| optuna-nsga2 | 150/0/10 | 15.0 | 153/0/7 |",
        ),
    ),
    Quote(
        "docs/guides/tradeoffs.md",
        "ours 22.5 | 668.5 | 9.8 | 0.4 |",
        "moo/reported.md",
        ("0.9113 | 22.5 |", "0.7771 | 668.5 |", "0.7013 | 9.8 |", "0.5955 | 0.4 |"),
    ),
    Quote("docs/guides/why.md", "takes about 0.1 s", "shapley/README.md", ("takes about 0.1 s",)),
    Quote(
        "docs/papers.md",
        "multiplied by 1000 send the weight to 0.96 instead",
        "sawei/hpobench.md",
        ("| sawei-paper | times 1000 | 0.85 / 0.94 / 0.96 |",),
    ),
    Quote(
        "docs/papers.md",
        "its log10 regret differs by +0.014 ± 0.04 on BBOB, and its regret by −0.00076 ± 0.0005 on HPOBench",
        "sawei/README.md",
        ("log10 regret +0.014 ± 0.04 on BBOB", "regret −0.00076 ± 0.0005 on HPOBench"),
    ),
    Quote(
        "docs/papers.md",
        "after 25, 50, 75 and 100% of the evaluations is −.36, −.42, −.54, −.49 (the paper: −.14, −.16, "
        "−.04, +.03), and "
        "the regret relative to EI +.38, .94, 1.47, .76 (the paper: 1.68, 5.04, 4.73, 3.26)",
        "bobax/README.md",
        (
            "−.36/−.42/−.54/−.49 relative to random search",
            "the source: −.14/−.16/−.04/+.03",
            "regret +.38/.94/1.47/.76 relative to EI (the source: 1.68/5.04/4.73/3.26)",
        ),
    ),
    Quote(
        "docs/papers.md",
        "known to ±1.5 points after 38 evaluations, with random search after 48, with EI after 117 (the paper: 11.6, "
        "14.9, 22.6)",
        "bobax/source-lcbench.md",
        (
            "| a-bobax | 69.5 | 37.7 |",
            "| rs | 67.7 | 48.0 |",
            "| ei | 135.6 | 116.6 |",
            "11.56 /",
            "14.91 /",
            "22.59 /",
        ),
    ),
    Quote(
        "docs/papers.md",
        "95% bands held 95.1% on average, the posterior alone 84.8%",
        "bobax/coverage.md",
        ("| **mean of these designs** | both | ≥ 20 d | 95.1% | 84.8% |",),
    ),
    Quote(
        "docs/papers.md",
        "14 of 16 mean contributions are within one standard deviation",
        "shapley/README.md",
        ("Of 16 mean contributions (two terms, four parameters, two λ) 14 are within one standard deviation",),
    ),
    Quote(
        "docs/papers.md",
        "at iterations 12, 16, 17 and 30; in the thesis's runs at 10, 13, 17 and 30",
        "shapley/README.md",
        ("at iteration 12 (θ4), 16, 17 and 30 (θ1)", "at 10, 13, 17 and 30"),
    ),
    Quote(
        "docs/papers.md",
        "takes about 0.1 s; the thesis reports 243 s",
        "shapley/README.md",
        ("takes about 0.1 s", "took the source 243 s"),
    ),
    Quote(
        "docs/papers.md",
        "indices of 1.63 and 1.62 × 10⁻², the paper 1.54 and 1.55",
        "hsic/README.md",
        ("1.63 and 1.62 × 10⁻², the source 1.54 and 1.55",),
    ),
    Quote(
        "docs/papers.md",
        "within 0.99 standard deviations of a full search, with 16, 33 and 28 times fewer parameters in the largest "
        "network on Runge, Bateman and digits (the paper: 482 for Bateman, 67 for MNIST)",
        "hsic/README.md",
        ("| +0.99 | 16 |", "| +0.59 | 33 |", "| -0.37 | 28 |", "67 for MNIST, 482 for Bateman"),
    ),
    Quote(
        "docs/papers.md",
        "a mean regret of .031, .021, .006, .0028 after 5, 10, 20 and 50 steps on networks (FSBO .072, .041, "
        ".022, .0028)",
        "ranking/README.md",
        ("| **.031 / .021 / .006 / .0028** |", "| FSBO | .072 / .041 / .022 / .0028 |"),
    ),
)


def flat(text: str) -> str:
    return " ".join(text.split())


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page}: {quote.words[:40]}")
def test_a_quoted_number_is_that_of_a_table(quote: Quote) -> None:
    assert flat(quote.words) in flat((ROOT / quote.page).read_text(encoding="utf-8")), "the page says something else"
    table = flat((RESULTS / quote.file).read_text(encoding="utf-8"))
    assert [source for source in quote.sources if source not in table] == [], f"{quote.file} says something else"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_measured_number_is_quoted(page: Path) -> None:
    text = flat(_FENCED.sub("", page.read_text(encoding="utf-8")))
    for words in (*(quote.words for quote in QUOTES if quote.page == name_of(page)), *ALLOWED):
        text = text.replace(flat(words), "")
    assert _MEASURED.findall(_NOT_PROSE.sub("", text)) == []
