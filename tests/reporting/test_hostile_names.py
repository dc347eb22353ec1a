"""Names that would control a terminal or turn the order of letters: a page shows escapes, and copies what they were."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import optuna
from optuna.trial import Trial
from tests.browser import Browser, in_a_browser

import pellucid
from pellucid import words
from pellucid.words import printable

HOSTILE = "lr'\\\x1b[201~\x07\r\nrm \u202eb\u2066 \x7f\x9b"
CHOICE = "sgd\x1b]52;c;x\x07\u202e"


def test_the_page_escapes_what_python_escapes(repository: Path) -> None:
    script = (repository / "src/pellucid/surfaces/page/assets/figures.js").read_text(encoding="utf-8")
    written = re.search(r"CONTROLS = /(.*)/gu;", script)
    assert written is not None
    pattern = re.compile(re.sub(r"\\u\{(\w+)\}", lambda code: f"\\U{int(code[1], 16):08x}", written[1]))
    letters = "".join(map(chr, range(sys.maxunicode + 1)))
    assert pattern.findall(letters) == words._CONTROLS.findall(letters)


@in_a_browser
def test_names_are_shown_as_escapes_and_copied_as_they_are(tmp_path: Path) -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float(HOSTILE, 0, 1) + len(trial.suggest_categorical("opt", [CHOICE, "adam"]))

    study = optuna.create_study(study_name=f"study {HOSTILE}", sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_metric_names([f"loss {HOSTILE}"])
    study.optimize(objective, n_trials=25)
    params = next(trial for trial in study.trials if trial.params["opt"] == CHOICE)
    path = pellucid.report(study, tmp_path / "hostile.html", progress=False)
    with Browser(tmp_path) as browser:
        browser.open(path)
        assert browser.messages == []
        for shown in (browser.run("document.title"), browser.run("document.body.innerText")):
            assert printable(HOSTILE) in shown
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", shown)
        hidden = (
            "Array.from(document.querySelectorAll('[title], [aria-label]')).map((e) => e.title + e.ariaLabel).join()"
        )
        assert "\u202e" not in browser.run(hidden)
        python, plain, flags = (
            browser.run(f"report.configuration({params.number}, '{language}')")
            for language in ("python", "json", "flags")
        )
    assert ast.literal_eval(python.removeprefix("params = ")) == params.params
    assert json.loads(plain) == params.params
    assert "".join(flags.split()).isprintable()
    printed = subprocess.run(["bash", "-c", f"printf '%s\\n--next--\\n' {flags}"], capture_output=True, check=True)
    given = printed.stdout.decode("utf-8", "surrogateescape").split("\n--next--\n")
    assert len([each for each in given if each]) == 2
    assert any(each.startswith("--lr'\\\x1b[201~\x07\r\nrm ") for each in given)
