"""Write the public names for type checkers, and where pages list answers: python tools/api.py

Run it after an answer or a public name was added. A test fails if a file is not up to date.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pellucid
from pellucid.answers.base import Answer, Takes
from pellucid.answers.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent
STUB = "src/pellucid/__init__.pyi"
WIDTH = 120
# Questions that are no entry of the catalogue: they are answered while a study runs, or by what is stored.
OTHERS: tuple[tuple[str, str, str], ...] = (
    (
        "What did the model expect of trial 42? Can I have that model back?",
        "`receipt(study, 42)`, `rebuild(study, 42)`",
        "why.md#the-receipt",
    ),
    ("Can a study stop by itself?", "`callbacks=[StopWhen(regret_below=0.002)]`", "stop.md"),
    (
        "Can the search improve the plots of effects while it runs?",
        "`BayesianSampler(interleave=Interleave(until=0.015))`",
        "matters.md#make-effects-reliable-while-the-study-runs",
    ),
    (
        "Can the search find models that are as good but cheaper?",
        '`TwoStepSampler(goal="accuracy+speed", cheap={"n_units": "low"})`',
        "ranges.md#search-for-cheaper-models",
    ),
    (
        "What are the best compromises between objectives?",
        "`recommend(study)`, with `prefer={...}` or `limits={...}`",
        "tradeoffs.md",
    ),
    (
        "Trials must stay below a limit. What then?",
        '`trial.set_constraint("memory", used - limit)`, `BayesianSampler(allowed=...)`',
        "constraints.md",
    ),
    (
        "Some of my trials fail. Can the search avoid that?",
        "`BayesianSampler(avoid_failures=True)`",
        "constraints.md#trials-that-fail",
    ),
    ("Can hopeless trials be stopped early?", "`create_study(pruner=CurvePruner())`", "curves.md"),
    (
        "Can a new study learn from my last forty?",
        "`RankingSampler.from_studies(...)`, `pellucid meta-train`",
        "earlier.md",
    ),
    (
        "I know how noisy each trial is. Where do I say so?",
        "`report_noise(trial, variance)` in the objective",
        "use.md#noise-that-you-know",
    ),
    ("Can several machines share a study?", "any of Optuna's storages, Ray, Dask", "../machines/README.md"),
)
# What the table calls the pages of the guides.
PAGES = {
    "../machines/README.md": "many machines",
    "earlier.md": "earlier studies",
    "tradeoffs.md": "trade-offs",
}
# An example of what is named besides, by what a question takes.
EXAMPLES = {Takes.NOTHING: "", Takes.TRIAL: ", 42", Takes.PARAMS: ', "lr"', Takes.GOAL: ", goal"}
OPTIONS = {Takes.TRIAL: "`--trial`", Takes.PARAMS: "`--param`", Takes.GOAL: "`--goal`"}


def stub() -> str:
    """The public names with their types, and no others."""
    names = defaultdict(list)
    for name in pellucid.__all__:
        value = getattr(pellucid, name)
        names["pellucid" if isinstance(value, ModuleType) else value.__module__].append(name)
    imports = "\n".join(_import(module, of_module) for module, of_module in sorted(names.items()))
    listed = "\n".join(f'    "{name}",' for name in pellucid.__all__)
    return f"# Written by `python tools/api.py`.\n{imports}\n\n__version__: str\n__all__ = [\n{listed}\n]\n"


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


# ---------------------------------------------------------------------- tables and lists on pages


def questions(folder: str) -> str:
    """What can be asked, as a table; `folder`: where the guides are, as the page sees them."""
    rows = [(answer.described.question, _code(answer), answer.described.guide) for answer in CATALOGUE]
    table = ["| Question | Code | Guide |", "|---|---|---|"]
    for question, code, guide in (*(row for row in rows if row[0]), *OTHERS):
        page = guide.partition("#")[0]
        link = (Path(folder) / guide).as_posix().replace("guides/../", "")
        table.append(f"| {question} | {code} | [{PAGES.get(page, page.removesuffix('.md'))}]({link}) |")
    return "\n".join(table)


def _code(answer: Answer[Any]) -> str:
    return ", ".join(f"`{_name(reference)}(study{EXAMPLES[answer.takes]})`" for reference in answer.function)


def keys() -> str:
    """The keys of `explain --json`, as a table."""
    asked: dict[str, list[Answer[Any]]] = defaultdict(list)
    for answer in CATALOGUE:
        if answer.asked:
            asked[answer.key].append(answer)
    table = ["| key | question | asked |", "|---|---|---|"]
    for key, answers in asked.items():
        questions = " ".join(answer.described.question for answer in answers)
        listed = ["without options"] if any(answer.listed is not None for answer in answers) else []
        named = [f"with {OPTIONS[answer.takes]}" for answer in answers if answer.takes is not Takes.NOTHING]
        named += [f"with `--goal {answer.with_goal.value}`" for answer in answers if answer.with_goal is not None]
        table.append(f"| `{key}` | {questions} | {', or '.join([*listed, *named])} |")
    return "\n".join(table)


def reference() -> str:
    """The functions that answer a question, and the records that they return, under the question."""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    titles: dict[str, str] = {}
    seen: set[str] = set()
    for answer in CATALOGUE:
        titles.setdefault(answer.key, answer.title)
        if answer.function:
            listed = [_name(reference) for reference in (*answer.function, *answer.records)]
            names[answer.key].update(dict.fromkeys(name for name in listed if "." not in name and name not in seen))
            seen.update(listed)
    sections = []
    for key, of_key in names.items():
        directives = [f"::: pellucid.{name}" for name in sorted(of_key, key=lambda name: name[0].isupper())]
        sections.append("\n\n".join([f"## {titles[key]}", *directives]))
    return "\n\n".join(sections)


def _name(reference: str) -> str:
    return reference.partition(":")[2]


# Blocks of pages, by the path and by what they hold. A page has one block, between two comments.
BLOCKS = {
    "README.md": lambda: questions("docs/guides"),
    "docs/guides/index.md": lambda: questions(""),
    "docs/json.md": keys,
    "docs/api.md": reference,
}
BEGIN, END = "<!-- Written by `python tools/api.py`. -->", "<!-- End of what it writes. -->"


def written(path: str, block: str) -> str:
    """A page with its block."""
    text = (ROOT / path).read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{path} must have the lines {BEGIN!r} and {END!r}.")
    return f"{before}{begin}\n\n{block}\n\n{end}{after}"


def files() -> dict[str, str]:
    """What this command writes, by the path in the repository."""
    return {STUB: stub(), **{path: written(path, block()) for path, block in BLOCKS.items()}}


def main() -> None:
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
