"""Mistakes in the arguments of `pellucid tune` are one sentence and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import LOG, URL, call, tune
from tests.helpers import file_storage

pytestmark = pytest.mark.usefixtures("copied_workers")

BROKEN = {
    "syntax.py": "def objective(trial:\n",
    "missing.py": "import numpy\nimport no_such_package\n",
    "raises.py": "x = {}\nx['key']\n",
    "program.py": "import sys\nsys.exit(3)\n",
}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["script.py"], 2, "path/to/script.py:function or package.module:function; got `script.py`."),
        (["script.py:"], 2, "got `script.py:`"),
        (["script.py:a b"], 2, "got `script.py:a b`"),
        (["other.py:objective"], 2, "there is no file `other.py`"),
        (["notes.txt:objective"], 2, "`notes.txt` does not end in .py"),
        (["a-b.c:objective"], 2, "neither a script nor the name of a module"),
        (["no.such.module:objective"], 2, "there is no module `no`"),
        (["script.py:bowll"], 2, "has no `bowll`; the nearest is `bowl`."),
        (["script.py:zzz"], 2, "has no `zzz`; it has `bowl`"),
        (["script.py:number"], 2, "`number` in `script.py` is of type int"),
        (["script.py:Thing"], 2, "`Thing` in `script.py` is a class"),
        (["syntax.py:objective"], 2, "cannot be imported: SyntaxError"),
        (["missing.py:objective"], 2, "No module named 'no_such_package' (missing.py, line 2"),
        (["raises.py:objective"], 2, "KeyError: 'key' (raises.py, line 2"),
        (["program.py:objective"], 2, "if __name__ == '__main__'"),
        (["script.py:bowl", "--trials", "0"], 2, "--trials"),
        (["script.py:bowl", "--sampler", "best"], 2, "two-step"),
        (["script.py:bowl", "--sampler", "two-step"], 2, "needs --trials of at least 30"),
        (["script.py:bowl", "--model", "none.ranker"], 2, "there is no none.ranker: create it, or name another file."),
        (["script.py:bowl", "--model", "."], 2, "but . is a folder: name a file in it."),
        (["script.py:bowl", "--model", "notes.txt"], 2, "notes.txt is not a ranking model of pellucid"),
        (
            ["script.py:bowl", "--model", "x", "--sampler", "tpe"],
            2,
            "--sampler bayesian or sawei the later ones; got `tpe`",
        ),
        (["script.py:bowl", "--pruner", "curv"], 2, "hyperband"),
        (["script.py:bowl", "--keep", "0.1"], 2, "--keep belongs to --pruner curve; got `median`"),
        (["script.py:bowl", "--pruner", "curve", "--keep", "nan"], 2, "from 0 (stop nothing) to 1; got nan."),
        (["script.py:bowl", "--direction", "up"], 2, "minimize"),
        (["script.py:bowl", "--study", ""], 2, "A study's name has 1 to 512 characters"),
        (["script.py:bowl", "--study", "x" * 600], 2, "got one with 600"),
        (["script.py:bowl", "--report", "."], 2, "is a folder"),
        (["script.py:bowl", "--report", "nowhere/report.html"], 2, "there is no `nowhere`"),
        (["script.py:bowl", "--storage", ""], 2, "got nothing"),
        (["script.py:bowl", "--storage", "sqlite://tuning.db"], 2, "with three slashes, like sqlite:///tuning.db"),
        (["script.py:bowl", "--storage", "sqlite:tuning.db"], 2, "with three slashes"),
        (["script.py:bowl", "--storage", "sqlite:///:memory:"], 2, "end with their process"),
        (["script.py:bowl", "--storage", "sqlite:///no/such/t.db"], 2, "The folder of an SQLite file has to exist"),
        (["script.py:bowl", "--storage", "sqlite:///notes.txt"], 2, "`notes.txt` is not an SQLite database"),
        (["script.py:bowl", "--storage", "tuning"], 2, "write sqlite:///tuning for an SQLite file"),
        (["script.py:bowl", "--storage", "train.log"], 2, "neither an SQLite file nor an Optuna journal"),
        (["script.py:bowl", "--storage", "."], 2, "is a folder"),
        (["script.py:bowl", "--storage", "oracel://me:secret@host/x"], 2, "no dialect for: `oracel://***@host/x`"),
        (["script.py:bowl", "--storage", "mysql+cymysql://me:secret@host/x"], 3, "needs a driver package"),
        (
            ["script.py:bowl", "--storage", "postgresql://me:secret@127.0.0.1:1/x"],
            2,
            "check that the server is running",
        ),
        (["script.py:bowl", "--storage", "postgresql://me:secret@host:port/x"], 2, "not the URL of a database"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing_behind(
    folder: Path, arguments: list[str], code: int, sentence: str
) -> None:
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
    (folder / "notes.txt").write_text("notes\n" * 50)
    (folder / "train.log").write_text("epoch 1\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    defaults = {"--trials": "3", "--storage": URL}
    added = [word for option, value in defaults.items() if option not in arguments for word in (option, value)]
    result = call("tune", *arguments, *added)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.output
    # Usage errors come in a box that folds lines.
    assert sentence in result.stderr or "Usage" in result.stderr
    assert sentence.split(maxsplit=1)[0] in result.stderr
    assert "New study" not in result.stderr
    assert "secret" not in result.output
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


def test_a_study_keeps_its_directions(folder: Path) -> None:
    optuna.create_study(study_name="up", storage=URL, direction="maximize")
    optuna.create_study(study_name="two", storage=URL, directions=["minimize", "maximize"])
    result = tune("bowl", 3, "--study", "up", "--direction", "minimize")
    assert result.exit_code == 2
    assert "`up` has maximize, not minimize; leave --direction out" in result.stderr
    result = tune("bowl", 3, "--study", "two", "--direction", "minimize")
    assert result.exit_code == 2
    assert "`two` has minimize and maximize, not minimize; leave --direction out" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--sampler", "sawei"], "The sampler `sawei` works on one objective; the study has 2: use `bayesian`."),
        (["--sampler", "two-step"], "The sampler `two-step` works on one objective; the study has 2: use `bayesian`."),
        (["--direction", "minimize"] * 3, "The sampler `bayesian` works on up to 4 objectives; the study has 5"),
        (["--pruner", "curve"], "Trials are stopped early by one objective; the study has 2: leave --pruner out."),
    ],
)
def test_some_samplers_and_pruners_take_one_objective(folder: Path, options: list[str], sentence: str) -> None:
    result = tune("bowl", 40, "--direction", "minimize", "--direction", "minimize", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (folder / "tuning.db").exists()


@pytest.mark.slow  # Without a storage before, the tests above say the same.
@pytest.mark.parametrize(("target", "storage"), [("script.py:bowll", URL), ("scrip:bowl", LOG)])
def test_a_misspelt_objective_adds_no_study_to_a_storage(folder: Path, target: str, storage: str) -> None:
    opened = file_storage(Path(LOG)) if storage == LOG else URL
    optuna.create_study(study_name="other", storage=opened)
    result = call("tune", target, "--trials", "3", "--jobs", "2", "--storage", storage)
    assert result.exit_code == 2, result.output
    assert optuna.get_all_study_names(opened) == ["other"]
