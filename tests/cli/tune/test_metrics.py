"""`pellucid tune --metric`: what the objective returns has names, everywhere and in every run."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import LOG, call, study

from pellucid.surfaces.cli.tune.display import Progress, rows_of, sentence_of
from pellucid.surfaces.cli.tune.snapshot import snapshot_of
from pellucid.surfaces.cli.tune.worker import refused

pytestmark = pytest.mark.usefixtures("copied_workers")
AIMS = ("--metric", "accuracy", "--direction", "maximize", "--metric", "latency", "--direction", "minimize")


def tuned(function: str, n: int, *options: str, code: int = 0) -> str:
    """What the run prints."""
    result = call(
        "tune", f"script.py:{function}", "--trials", str(n), "--storage", LOG, "--sampler", "random", *options
    )
    assert result.exit_code == code, result.output
    return result.output


def names() -> list[str] | None:
    return study(storage=LOG).metric_names


def test_two_metrics_are_named_wherever_they_are_shown(folder: Path) -> None:
    output = tuned("scored", 12, *AIMS)
    assert "to maximize accuracy and minimize latency: 12 trials to go" in output
    assert "on the front; latest accuracy " in output
    assert "last error: trial 1: the objective returned {'accuracy'" in output
    assert "return a number for each, in this order: accuracy, latency" in output
    assert "on the true front of accuracy and latency" in output
    assert "on the true front of accuracy and latency" in output
    assert names() == ["accuracy", "latency"]
    snapshot = snapshot_of(study(storage=LOG))
    progress = Progress("title", snapshot, 12, 12, 1.0, None, "", 0)
    assert dict(rows_of(progress))["latest"].startswith("accuracy ")
    assert "latest accuracy " in sentence_of(progress)

    data = json.loads(call("tune", "script.py:scored", "--trials", "12", "--storage", LOG, "--json").stdout)
    assert data["objectives"] == [
        {"name": "accuracy", "direction": "maximize"},
        {"name": "latency", "direction": "minimize"},
    ]
    explained = call("explain", "--storage", LOG).stdout
    assert "accuracy" in explained
    assert call("report", "--storage", LOG, "--out", "page.html").exit_code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "to maximize accuracy and minimize latency" in page
    for text in (output, explained, page):
        assert "objective 0" not in text
        assert "objective 1" not in text


def test_metrics_without_directions_are_minimized_and_the_first_line_says_so(folder: Path) -> None:
    assert "to minimize loss and minimize latency: 2 trials to go" in tuned(
        "scored", 2, "--metric", "loss", "--metric", "latency"
    )


def test_a_run_goes_on_with_the_same_names_or_none_and_refuses_others(folder: Path) -> None:
    tuned("scored", 2, *AIMS)
    tuned("scored", 3)
    tuned("scored", 4, *AIMS)
    tuned("scored", 5, "--metric", "accuracy", "--metric", "latency")
    refusal = tuned("scored", 6, "--metric", "accuracy", "--metric", "seconds", code=2)
    assert "`script` has `accuracy` and `latency`, not `accuracy` and `seconds`; leave --metric out" in refusal
    refusal = tuned("scored", 6, "--metric", "accuracy", code=2)
    assert "--metric is given once for each value that the objective returns: `script` has 2, got 1" in refusal
    assert names() == ["accuracy", "latency"]
    assert len(study(storage=LOG).trials) == 5


def test_a_study_without_names_gets_them(folder: Path) -> None:
    tuned("scored", 3, "--direction", "maximize", "--direction", "minimize")
    assert names() is None
    assert "to go" in tuned("scored", 4, "--metric", "accuracy", "--metric", "latency")
    assert names() == ["accuracy", "latency"]


def test_one_metric_has_its_name(folder: Path) -> None:
    output = tuned("bowl", 3, "--metric", "loss")
    assert "to minimize loss: 3 trials to go" in output
    assert "; best loss " in output
    assert names() == ["loss"]
    assert "`script` has 1, got 2" in tuned("bowl", 4, "--metric", "loss", "--metric", "ms", code=2)


def test_a_study_that_another_process_created_a_moment_ago_keeps_its_names(folder: Path) -> None:
    from pellucid.surfaces.cli.errors import Mistake
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.cli.storage.studies import create_study

    place = place_of(LOG)
    assert create_study(place, "one", ["minimize"], ["loss"]).metric_names == ["loss"]
    assert create_study(place, "one", ["minimize"]).metric_names == ["loss"]
    with pytest.raises(Mistake, match="`one` has `loss`, not `error`"):
        create_study(place, "one", ["minimize"], ["error"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--metric", "a", "--metric", "a"), "a name of its own; got `a` twice"),
        (("--metric", " "), "a name of its own; got an empty name"),
        (("--metric", "a", "--metric", "b", "--direction", "maximize"), "got 2 and 1 of them"),
    ],
)
def test_names_that_cannot_be_given_are_refused(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    assert sentence in tuned("scored", 2, *options, code=2)
    assert not (folder / LOG).exists()


def test_the_order_of_the_values_is_said_where_one_is_missing() -> None:
    assert refused(1.0, 2, ["accuracy", "latency"]).endswith("for each, in this order: accuracy, latency")
    assert refused(1.0, 2).endswith("return a number for each")


def test_naming_a_study_prints_no_warning_of_optuna(folder: Path, recwarn: pytest.WarningsRecorder) -> None:
    tuned("bowl", 1, "--metric", "loss")
    assert [str(w.message) for w in recwarn if issubclass(w.category, optuna.exceptions.ExperimentalWarning)] == []
