"""An acquisition that is defined here, outside the package, is proposed with, named, explained and rebuilt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import page_data

import pellucid
from pellucid.numerics import Array
from pellucid.provenance import Term
from pellucid.search.acquisition import EI, Alternation, PointwiseAcquisition
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.words import RecordError


@dataclass(frozen=True)
class Gamble(PointwiseAcquisition):
    """-m + stake s^2: low predictions and uncertain regions."""

    stake: float = 1.5
    bold: bool = True
    mean_term = "forecast"

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"forecast": 1.0, "wildness": self.stake}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {"forecast": -m, "wildness": s * s}

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        return self.score(m, s, situation), -np.ones_like(m), 2.0 * self.stake * s

    def words(self) -> dict[str, Term]:
        return {
            "forecast": Term("forecast of {objective}", "{better} forecast of {objective}", "prediction"),
            "wildness": Term("wild card", "a wild card", "uncertainty"),
        }

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("chips", 10.0)


def tilted(trial: Trial) -> float:
    a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
    return 1.0 - 3 * (a - 0.2) ** 2 - (b - 0.7) ** 2


def run(objective: Callable[[Trial], float] = tilted, n: int = 14, storage: str | None = None) -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6, acquisition=Gamble())
    study = optuna.create_study(sampler=sampler, direction="maximize", storage=storage, study_name="own")
    study.set_metric_names(["accuracy"])
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return run()


def test_receipts_name_it_with_its_settings_and_terms(study: Study) -> None:
    receipts = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "model"]
    assert len(receipts) == 8
    for receipt in receipts:
        assert str(receipt).startswith(f"Trial {receipt.trial} maximised Gamble; the model expected ")
        assert receipt.acquisition is not None
        assert receipt.acquisition.settings == {"stake": 1.5, "bold": True}
        assert receipt.acquisition.weights == {"forecast": 1.0, "wildness": 1.5}
        value = sum(receipt.acquisition.weights[name] * term for name, term in receipt.acquisition.terms.items())
        assert receipt.acquisition.score == pytest.approx(value, abs=1e-12)


def test_explanations_use_its_words_unit_and_terms(study: Study) -> None:
    explanation = pellucid.explain_proposal(study, 13)
    assert explanation.acquisition == "Gamble"
    assert explanation.unit == "chips"
    assert {name: term.label for name, term in explanation.terms.items()} == {
        "forecast": "forecast of accuracy",
        "wildness": "wild card",
    }
    assert ": high forecast of accuracy" in str(explanation) or ": a wild card" in str(explanation)
    assert explanation.exact == ("forecast",)
    rebuilt = pellucid.rebuild(study, 13)
    x = rebuilt.encode([rebuilt.receipt.params])
    average = rebuilt.acquisition(np.random.default_rng(0).random((20_000, 2))).mean()
    assert explanation.total == pytest.approx(10.0 * float(rebuilt.acquisition(x)[0] - average), rel=0.02)


def test_figures_have_a_colour_and_a_label_per_term(study: Study) -> None:
    bars = [trace for trace in pellucid.explain_proposal(study, 13).plot().data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["forecast of accuracy", "wild card"]
    assert bars[0].marker.color != bars[1].marker.color


def test_its_uncertainty_counts_as_exploration(study: Study) -> None:
    paths = pellucid.desirability_paths(study, progress=False)
    exploring = sum(
        explanation.payouts["wildness"] > explanation.payouts["forecast"] for explanation in paths.explanations
    )
    counted = {0: "none of them was", 1: "one of them was", 8: "all of them were"}
    assert f"{counted.get(exploring, f'{exploring} of them were')} mainly exploration" in str(paths)


def test_the_report_uses_its_words(study: Study, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    pellucid.report(study, page, progress=False)
    text = json.dumps(page_data(page.read_text(encoding="utf-8")))
    assert "forecast of accuracy" in text
    assert "wild card" in text
    assert "maximised Gamble" in text


def test_proposals_are_rebuilt_exactly(study: Study) -> None:
    for number in (6, 13):
        rebuilt = pellucid.rebuild(study, number)
        x = rebuilt.encode([rebuilt.receipt.params])
        assert rebuilt.acquisition.acquisition == Gamble()
        assert rebuilt.receipt.acquisition is not None
        assert float(rebuilt.acquisition.score(x)[0]) == pytest.approx(rebuilt.receipt.acquisition.score, abs=1e-9)


def test_where_it_is_not_defined_the_error_says_what_to_import(tmp_path: Path) -> None:
    """Another process, which does not import this file; everything but this one proposal still works."""
    storage = f"sqlite:///{tmp_path}/study.db"
    run(n=8, storage=storage)
    code = (
        "import sys, optuna, pellucid\n"
        "study = optuna.load_study(study_name='own', storage=sys.argv[1])\n"
        "assert 'maximised Gamble' in str(pellucid.receipts(study)[-1])\n"
        "assert pellucid.recommend(study).trial >= 0\n"
        "pellucid.rebuild(study, 7)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, storage], text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "RecordError: A receipt names the acquisition 'Gamble'" in done.stderr
    assert "import the module that defines it" in done.stderr


def test_a_name_that_pellucid_uses_is_refused() -> None:
    with pytest.raises(TypeError, match="needs another name: receipts refer to acquisitions by name"):
        type("EI", (Gamble,), {})


def test_settings_that_the_class_does_not_take_are_a_damaged_record(study: Study) -> None:
    from pellucid.search.acquisition.base import from_name

    with pytest.raises(RecordError, match="'Gamble' does not take the settings"):
        from_name("Gamble", {"stakes": 3.0})


@dataclass(frozen=True)
class Unstorable(Gamble):
    """Its settings are no JSON."""

    schedule: Callable[[int], float] = float


class Forgetful(Gamble):
    """Its settings do not make it again."""

    def __init__(self, power: float) -> None:
        super().__init__(power)


@pytest.mark.parametrize("own", [Unstorable(), Forgetful(2.0)])
@pytest.mark.parametrize(
    "make",
    [
        lambda own: pellucid.BayesianSampler(acquisition=own),
        lambda own: pellucid.BayesianSampler(acquisition=Alternation((EI(), own))),
        lambda own: pellucid.TwoStepSampler(acquisition=own),
    ],
)
def test_settings_that_no_receipt_could_give_back_are_refused_when_they_are_given(
    make: Callable[[PointwiseAcquisition], object], own: PointwiseAcquisition
) -> None:
    with pytest.raises(
        TypeError, match=r"stores the settings of an acquisition as JSON.* cannot be made again \(TypeError"
    ):
        make(own)


def test_a_term_needs_a_role_that_figures_know() -> None:
    with pytest.raises(ValueError, match="one of prediction, uncertainty, room, information, feasibility"):
        Term("luck", "it was lucky", "luck")  # type: ignore[arg-type]
