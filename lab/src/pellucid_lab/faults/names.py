"""Hostile names: of the study, a parameter, the objective, a choice and an attribute, all at once.

The study must go on, be explained and reported. Of a page, no element and no handler may come from a name, and nothing
but the page may be written. Nothing that is shown may have a character that controls a terminal or turns text.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import bidirectional, category

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.homes import empty_folder
from pellucid_lab.faults.mutations import code
from pellucid_lab.faults.receipts import count_executed
from pellucid_lab.faults.studies import check_goes_on

if TYPE_CHECKING:
    from optuna.trial import Trial

TRIALS = 12
# Script elements that every page has: three that run, its data and Plotly, compressed.
_SCRIPTS = 5
_MARK = "pellucidfault"
# What turns the order of text: Unicode's classes of overrides, embeddings and isolates, and three marks.
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_MARKS = "\u200e\u200f\u061c"


def hostile_names(canary: Path) -> tuple[str, ...]:
    return (
        f"<{_MARK}>",
        f"<script>{_MARK}()</script>",
        f"</script><script>{_MARK}()</script>",
        f"<img src=x onerror={_MARK}()>",
        f"\"><svg onload='{_MARK}()'>",
        f"'><{_MARK}",
        f"]]><{_MARK}><!--",
        f"--><{_MARK}>",
        f"&lt;{_MARK}&gt;&#60;{_MARK}&#62;",
        f"</title></style></textarea><{_MARK}>",
        f"javascript:{_MARK}()",
        f"[a](javascript:{_MARK}()) **b** | c |",
        "../../../canary",
        str(canary),
        "/dev/stdin",
        "con",
        "a/b\\c",
        ".",
        " ",
        "",
        "a\nb\r\nc\td",
        "nul\0byte",
        "\x1b[2J\x1b]0;title\x07",
        "\u202egnitset\u202c",
        "e\u0301\u200b\ufeff",
        "🙂👩‍👩‍👧",
        "\ud800",
        "x" * 512,
        "x" * 10_000,
        "{} {0} {x!r:>{y}}",
        "%(x)s %s %d",
        "'; DROP TABLE trials; --",
        "pellucid:receipt",
        "pellucid:receipt:0",
        "pellucid:ranker",
        "constraints",
        "__class__",
        "self",
        "objective",
        "-1",
        "nan",
        "None",
        "$HOME ~ *",
        *code(canary),
    )


class _Elements(HTMLParser):
    """What a browser would make of a page, as far as names could have changed it."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.injected: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        odd = [name for name, value in attrs if name.startswith("on") or (value or "").startswith("javascript:")]
        if _MARK in tag or odd:
            self.injected.append(f"<{tag} {' '.join(odd)}>")


def injected(page: str) -> list[str]:
    """Elements and handlers of a page that come from a name."""
    elements = _Elements()
    elements.feed(page)
    extra = [f"{elements.scripts} scripts"] if elements.scripts != _SCRIPTS else []
    return [*elements.injected, *extra]


def controls(text: str) -> list[str]:
    """Characters that control a terminal or turn the order of text; ends of lines and tabs are those of a layout."""
    return sorted(
        {
            letter
            for letter in text
            if letter not in "\n\t"
            and (category(letter) in ("Cc", "Cs", "Zl", "Zp") or bidirectional(letter) in _TURNING or letter in _MARKS)
        }
    )


def run_names(task: FaultTask) -> Tally:
    """`size` names, from number `chunk` on, on SQLite."""
    tally = Tally()
    for number in range(task.chunk, task.chunk + task.size):
        with empty_folder() as folder:
            names = hostile_names(folder / "canary")
            if number >= len(names):
                break
            tally.tried += 1
            try_name(tally, names[number], folder)
            count_executed(tally, folder / "canary")
    return tally


def try_name(tally: Tally, name: str, folder: Path) -> None:
    pages = folder / "pages"
    pages.mkdir()
    ended = attempted(tally, lambda say: _check(name, f"sqlite:///{folder}/study.db", pages, say))
    if not ended.fine:
        tally.unusable += 1
    elif ended.value["refused"]:
        tally.count("names that Optuna or its storage refused")
    else:
        if ended.value["problems"]:
            tally.unusable += 1
            tally.note(f"{name[:40]!r}: " + "; ".join(ended.value["problems"]))
        if ended.value["shown"]:
            tally.shown += 1
            tally.note(f"{name[:40]!r} is shown as it is by {ended.value['shown']}")
        if ended.value["injected"]:
            tally.executed += 1
            tally.note(f"{name[:40]!r} is in the page as {ended.value['injected']}")
    written = sorted(file.name for file in folder.rglob("*") if file.is_file() and file.name != "study.db-journal")
    if set(written) - {"study.db", "report.html"}:
        tally.executed += 1
        tally.note(f"{name[:40]!r}: other files were written: {written}")


def _check(name: str, storage: str, pages: Path, say: Say) -> dict[str, Any]:
    import optuna

    import pellucid

    def objective(trial: Trial) -> float:
        x = trial.suggest_float(name, -1.0, 1.0)
        chosen = trial.suggest_categorical(f"choice {name}", [name, "other"])
        trial.set_user_attr(name, name)
        return (x - 0.3) ** 2 + (chosen == name)

    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    try:
        study = optuna.create_study(study_name=name, storage=storage, sampler=sampler)
        study.set_metric_names([name])
        study.set_user_attr(name, name)
        study.optimize(objective, n_trials=1)
    except Exception as error:  # Not ours: a name that Optuna, SQLAlchemy or the database does not take.
        return {"refused": f"{type(error).__name__}: {error}"}
    study.optimize(objective, n_trials=TRIALS - 1)
    say("trials")
    problems = check_goes_on(study, pages, say, objective)
    page = pages / "report.html"
    html = page.read_text(encoding="utf-8") if page.exists() else ""
    texts = {
        "an answer": str(pellucid.recommend(study)) + repr(pellucid.importance(study)),
        "explain": _printed("explain", "--storage", storage, name),
        "explain --json": _printed("explain", "--storage", storage, name, "--json"),
        "the page": html,
    }
    return {
        "refused": "",
        "problems": problems,
        "injected": injected(html) if html else [],
        "shown": [where for where, text in texts.items() if controls(text)],
    }


def _printed(*arguments: str) -> str:
    from typer.testing import CliRunner

    from pellucid.surfaces.cli.app import app

    result = CliRunner().invoke(app, list(arguments))
    return result.stdout + result.stderr
