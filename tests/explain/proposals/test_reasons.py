"""Which parameters are named as reasons, what is said about those that are not, and the answer for sampled trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.explain.proposals.studies import run
from tests.helpers import conditional, page_data
from typer.testing import CliRunner

import pellucid
from pellucid.answers.proposals.cases import case_of
from pellucid.answers.proposals.records import Contribution
from pellucid.answers.proposals.relevance import Relevance, relevance
from pellucid.answers.proposals.why import contradictions, doubted, proposal_sentence
from pellucid.models import GaussianProcess
from pellucid.provenance import Term
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.page import page

TERMS = {
    "mean": Term("prediction", "low predicted loss", "prediction"),
    "uncertainty": Term("uncertainty", "little known there", "uncertainty"),
}


def share(name: str, mean: float, uncertainty: float, error: float = 0.001) -> Contribution:
    total = mean + uncertainty
    terms = {"mean": mean, "uncertainty": uncertainty}
    return Contribution(name, 0.5, total, total - error, total + error, terms, terms, terms)


def sentence(*shares: Contribution, relevance: dict[str, float], terms: dict[str, Term] = TERMS) -> str:
    total = sum(c.total for c in shares)
    return proposal_sentence(7, shares, total, True, terms, "the average", True, 1e-9, known(relevance)).sentence


def known(totals: dict[str, float], evidence: float = 5.0) -> dict[str, Relevance]:
    return {name: Relevance(total, {"": evidence}) for name, total in totals.items()}


# ------------------------------------------------------------------------------------------ what is named


def test_a_dummy_that_only_the_uncertainty_speaks_for_is_not_named() -> None:
    text = sentence(share("lr", 1.0, -0.1), share("idle", -0.02, 0.9), relevance={"lr": 0.9, "idle": 0.01})
    assert "`lr`" in text
    assert "idle" not in text
    assert "(51% of its appeal" in text  # Of everything that counts in favour, named or not.


def test_exploring_a_parameter_that_matters_is_named() -> None:
    text = sentence(share("lr", 1.0, -0.1), share("depth", -0.02, 0.4), relevance={"lr": 0.7, "depth": 0.3})
    assert "`depth` = 0.5" in text


def test_a_prediction_is_named_even_if_the_parameter_hardly_matters_overall() -> None:
    text = sentence(share("lr", 1.0, 0.0), share("depth", 0.4, 0.1), relevance={"lr": 0.95, "depth": 0.02})
    assert "`depth` = 0.5" in text or "`lr`" in text
    alone = sentence(share("depth", 0.4, 0.1), relevance={"depth": 0.02})
    assert "mainly for `depth`" in alone


def test_a_contribution_whose_interval_holds_zero_is_not_named() -> None:
    text = sentence(share("lr", 1.0, 0.0), share("depth", 0.9, 0.0, error=1.0), relevance={"lr": 0.5, "depth": 0.5})
    assert "depth" not in text


def test_less_than_a_twentieth_of_the_appeal_is_no_reason() -> None:
    shares = (share("lr", 0.9, 0.0), share("depth", 0.5, 0.0), share("leaf", 0.01, 0.0))
    seen = {"lr": Relevance(0.6, {"": 1.0}), "depth": Relevance(0.3, {"": 8.0}), "leaf": Relevance(0.1, {"": 8.0})}
    said = proposal_sentence(7, shares, 1.41, True, TERMS, "the average", True, 1e-9, seen)
    assert said.sentence.startswith("Trial 7 was proposed partly for `depth` = 0.5 (35% of its appeal")
    assert "leaf" not in said.sentence
    assert (said.reasons, said.against) == (("depth",), ())


def test_what_the_sentence_names_is_a_field_of_the_explanation() -> None:
    """What speaks for a proposal comes first in the sentence, exploration after it, what speaks against it last."""
    shares = (share("lr", 1.0, 0.0), share("depth", 0.02, 0.3), share("leaf", -0.4, 0.0))
    seen = {**known({"lr": 0.6, "depth": 0.3}), "leaf": Relevance(0.3, {"": -5.0})}
    said = proposal_sentence(7, shares, 0.92, True, TERMS, "the average", True, 1e-9, seen)
    assert (said.reasons, said.against) == (("lr", "depth"), ("leaf",))
    places = [said.sentence.index(f"`{name}`") for name in (*said.reasons, *said.against)]
    assert places == sorted(places)


def test_exploration_by_dummies_alone_names_none() -> None:
    text = sentence(share("idle", 0.0, 0.9), share("other", 0.0, 0.3), relevance={"idle": 0.0, "other": 0.01})
    assert text == (
        "Trial 7 was proposed to explore: little is known there, and no parameter that matters made the difference."
    )


def test_an_acquisition_that_only_explores_names_what_it_explores() -> None:
    terms = {"uncertainty": TERMS["uncertainty"]}
    shares = Contribution("idle", 0.5, 0.9, 0.8, 1.0, {"uncertainty": 0.9}, {"uncertainty": 0.8}, {"uncertainty": 1.0})
    assert "`idle`" in sentence(shares, relevance={"idle": 0.0}, terms=terms)


def test_a_prediction_that_the_model_was_not_sure_of_is_a_note_and_no_reason() -> None:
    shares = (share("lr", 1.0, 0.0), share("idle", 0.9, 0.0))
    seen = {"lr": Relevance(0.6, {"": 8.0}), "idle": Relevance(0.4, {"": 1.2})}
    text = proposal_sentence(7, shares, 1.9, True, TERMS, "the average", True, 1e-9, seen).sentence
    assert "`lr`" in text
    assert "idle" not in text
    (note,) = doubted(shares, TERMS, seen)
    assert note.startswith("The model expected `idle` = 0.5 to help, but was not sure")


def test_evidence_is_the_contrast_with_other_values_in_its_posterior_sd() -> None:
    """Against draws from the joint posterior."""
    rng = np.random.default_rng(0)
    X = rng.random((15, 2))
    study = optuna.create_study()
    study.optimize(lambda trial: sum(trial.suggest_float(name, 0, 1) for name in "ab"), n_trials=2)
    space = StudyView.of(study, "test").data.space
    gp = GaussianProcess("matern52").fit(X, (X[:, 0] - 0.2) ** 2 + 0.1 * rng.standard_normal(15))
    x = np.array([0.2, 0.9])
    grid = np.array([[u, 0.9] for u in (np.arange(400) + 0.5) / 400])
    draws = gp.sample(np.vstack([x[None], grid]), 4000, rng)
    contrast = draws[:, 1:].mean(axis=1) - draws[:, 0]
    expected = contrast.mean() / contrast.std()
    assert relevance({"": gp}, space, x, (0, 1))["a"].evidence[""] == pytest.approx(expected, rel=0.1)


def wide(trial: Trial) -> float:
    """`a` matters most, `b` less; four parameters do nothing."""
    a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
    for i in range(4):
        trial.suggest_float(f"idle{i}", 0, 1)
    return 3 * (a - 0.2) ** 2 + (b - 0.7) ** 2


def test_dummies_are_seldom_named_in_a_study() -> None:
    study = run(wide, n=30)
    sentences = [pellucid.explain_proposal(study, number).sentence for number in range(10, 30)]
    assert sum("`idle" in text for text in sentences) <= 2
    assert sum("`a`" in text for text in sentences) >= 15


# ------------------------------------------------------------------------------------------ contradictions


def notes(*shares: Contribution, relevance: dict[str, float], everywhere: bool = True) -> tuple[str, ...]:
    return contradictions(shares, TERMS, known(relevance), everywhere=everywhere, rounding=0.0)


def test_a_parameter_that_matters_and_contributes_nothing_gets_a_note_that_says_why() -> None:
    both = {"lr": 0.6, "depth": 0.4}
    (average,) = notes(share("lr", 0.001, 0.0), share("depth", 1.0, 0.0), relevance=both)
    assert average.startswith(
        "The model's predictions depend on `lr`, but it was no reason here: the effect of this value is"
    )
    (near,) = notes(share("lr", 0.001, 0.0), share("depth", 1.0, 0.0), relevance=both, everywhere=False)
    assert "near this proposal its value is already right" in near
    (cancelled,) = notes(share("lr", 0.5, -0.49), share("depth", 1.0, 0.0), relevance=both)
    assert "little is left to learn there, and the two cancel" in cancelled


def test_no_note_for_parameters_that_contribute_or_do_not_matter() -> None:
    assert notes(share("lr", 0.5, 0.0), share("depth", 1.0, 0.0), relevance={"lr": 0.6, "depth": 0.4}) == ()
    assert notes(share("lr", 0.0, 0.0), share("depth", 1.0, 0.0), relevance={"lr": 0.05, "depth": 0.9}) == ()
    assert notes(share("lr", 0.0, 0.0), relevance={"lr": 0.9}) == ()  # Nothing contributed, so nothing stands out.
    assert notes(share("lr", 0.0, 0.0), share("depth", 1.0, 0.0), relevance={}) == ()


def test_compared_with_the_incumbent_what_is_already_right_gets_the_note(study: Study) -> None:
    last = study.trials[-1].number
    explanation = pellucid.explain_proposal(study, last, baseline={**study.trials[last].params, "b": 0.0})
    assert any(
        note.startswith("The model's predictions depend on `a`, but it was no reason here: near this proposal")
        for note in explanation.notes
    )


def test_relevance_is_the_total_index_of_the_prediction() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = 2.0 * X[:, 0] + X[:, 1]  # Independent uniform inputs: total indices 0.8, 0.2 and 0.
    study = optuna.create_study()
    study.optimize(lambda trial: sum(trial.suggest_float(name, 0, 1) for name in "abc"), n_trials=2)
    space = StudyView.of(study, "test").data.space
    gp = GaussianProcess("matern52").fit(X, y)
    indices = relevance({"": gp}, space, X[0], (0, 1, 2))
    assert indices["a"].total == pytest.approx(0.8, abs=0.1)
    assert indices["b"].total == pytest.approx(0.2, abs=0.05)
    assert indices["c"].total < 0.01


def test_parameters_of_a_branch_are_judged_inside_it() -> None:
    study = run(conditional, n=30)
    numbers = [trial.number for trial in study.trials if trial.number >= 6 and "drop" in trial.params]
    case = case_of(StudyView.of(study, "test"), numbers[-1])
    indices = case.relevance()
    assert set(indices) == {"lr", "depth", "booster", "drop", "skip"}
    assert all(np.isfinite(list(value.evidence.values())).all() and value.total >= 0.0 for value in indices.values())


def test_a_constant_prediction_depends_on_nothing() -> None:
    study = run(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n=9)
    assert case_of(StudyView.of(study, "test"), 8).relevance() == {
        "x": Relevance(0.0, {"low predicted objective": 0.0})
    }


# ------------------------------------------------------------------------------------------ trials that were sampled


def test_a_sampled_trial_has_one_answer_in_function_command_and_report(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    study = optuna.create_study(study_name="sampled", storage=storage, sampler=sampler)
    study.optimize(wide, n_trials=9)
    with pytest.raises(ValueError) as error:
        pellucid.explain_proposal(study, 0)
    answer = str(error.value)
    assert answer.startswith("Trial 0 was sampled to cover the space, not proposed by the model.")
    result = CliRunner().invoke(app, ["explain", "--storage", storage, "--trial", "0"])
    assert result.exit_code == 2
    assert answer in " ".join(result.output.split())
    paths = pellucid.desirability_paths(study, [0, 8], progress=False)
    assert paths.skipped == {0: answer}
    gathered = gather(study, progress=False)
    picked = {trial["number"]: trial for trial in page_data(page(gathered))["picked"]}
    assert (picked[0]["words"], picked[0]["explicable"]) == ([answer], False)
    assert picked[8]["explicable"]
