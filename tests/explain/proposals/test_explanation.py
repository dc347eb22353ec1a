"""Explanations of a proposal: every acquisition in its terms and unit, in both directions, against closed forms."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.explain.proposals.studies import NO_WARP, check, run, tilted
from tests.helpers import bowl

import pellucid
from pellucid.answers.proposals.background import parts_of
from pellucid.answers.proposals.cases import case_of
from pellucid.answers.proposals.games import estimated
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.answers.shapley import shapley_values
from pellucid.models import GaussianProcess
from pellucid.search.acquisition import EI, LCB, PI, SAWEI, WEI, InformationGain, PosteriorVariance
from pellucid.study.view import StudyView

# ----------------------------------------------------------------------------------- every acquisition


@pytest.mark.parametrize(
    ("acquisition", "terms", "unit"),
    [
        (LCB(1.0), ("mean", "uncertainty"), "objective"),
        (LCB(None), ("mean", "uncertainty"), "objective"),
        (EI(), ("exploit", "explore"), "objective"),
        (WEI(0.3), ("exploit", "explore"), "objective"),
        (SAWEI(), ("exploit", "explore"), "objective"),
        (PI(), ("probability",), "probability"),
        (PosteriorVariance(), ("variance",), "standardised variance"),
        (InformationGain("a"), ("information",), "objective"),
        (InformationGain(target="path"), ("information",), "nats"),
    ],
    ids=lambda value: (
        getattr(value, "name", None) or type(value).__name__ if not isinstance(value, (str, tuple)) else ""
    ),
)
def test_every_acquisition_is_split_into_its_terms(acquisition: Any, terms: tuple[str, ...], unit: str) -> None:
    study = run(n=9, acquisition=acquisition)
    explanation = pellucid.explain_proposal(study, 8)
    check(explanation)
    assert explanation.term_names == terms
    assert explanation.unit == unit
    assert explanation.proposed
    assert [c.name for c in explanation.contributions] == ["a", "b", "idle"]
    assert [c.value for c in explanation.contributions] == [study.trials[8].params[n] for n in ("a", "b", "idle")]


def test_interleaved_trials_are_explained_by_their_purpose() -> None:
    study = run(n=12, interleave=pellucid.Interleave(["a"]))
    learning, improving = pellucid.explain_proposal(study, 10), pellucid.explain_proposal(study, 11)
    assert learning.term_names == ("information",)
    assert "to learn about the effect of `a`" in str(learning)
    assert improving.term_names == ("mean", "uncertainty")
    multiplied = run(n=9, interleave=pellucid.Interleave(mode="multiply"))
    explanation = pellucid.explain_proposal(multiplied, 8)
    check(explanation)
    assert explanation.term_names == ("improvement", "information")
    assert explanation.unit == "log"


def test_the_payout_is_the_acquisition_minus_its_average() -> None:
    study = run(n=12, acquisition=LCB(2.0), surrogate=NO_WARP)
    explanation = pellucid.explain_proposal(study, 11)
    rebuilt = pellucid.rebuild(study, 11)
    scale = rebuilt.surrogate.hyperparameters.y_scale
    x = rebuilt.encode([rebuilt.receipt.params])
    Z = np.random.default_rng(0).random((40_000, 3))
    u = rebuilt.acquisition(Z)
    sampled = scale * (float(rebuilt.acquisition(x)[0]) - u.mean())
    assert explanation.total == pytest.approx(sampled, abs=5 * scale * u.std() / 200)
    assert explanation.weights == {"mean": 1.0, "uncertainty": 2.0}
    assert not explanation.transformed
    mean, sd = rebuilt.predict([rebuilt.receipt.params])
    assert (explanation.mean, explanation.sd) == (pytest.approx(float(mean[0])), pytest.approx(float(sd[0])))


def test_contributions_are_those_of_plain_enumeration() -> None:
    """The fast path through kernel factors and shifted nets, against the general one on a large random background."""
    study = run(n=12, acquisition=EI(), surrogate=NO_WARP)
    explanation = pellucid.explain_proposal(study, 11)
    rebuilt = pellucid.rebuild(study, 11)
    scale = rebuilt.surrogate.hyperparameters.y_scale
    x = rebuilt.encode([rebuilt.receipt.params])[0]
    Z = np.random.default_rng(1).random((4000, 3))

    def terms(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return scale * np.stack(list(rebuilt.acquisition.terms(X).values()), axis=1)

    plain = shapley_values(terms, x, Z, "sampled", n_samples=4000)
    for i, c in enumerate(explanation.contributions):
        for k, term in enumerate(("exploit", "explore")):
            tolerance = 3.0 * plain.half_widths[i, k] + c.term_high[term] - c.term_low[term]
            assert c.terms[term] == pytest.approx(plain.values[i, k], abs=tolerance)


# -------------------------------------------------------------------------------- units and directions


@pytest.mark.parametrize("acquisition", [LCB(2.0), EI()], ids=["LCB", "EI"])
@pytest.mark.parametrize("surrogate", [NO_WARP, GaussianProcess(warp="auto")], ids=["plain", "warped"])
def test_contributions_scale_with_the_objective(acquisition: Any, surrogate: GaussianProcess) -> None:
    def skewed(trial: Trial) -> float:
        return math.exp(4 * tilted(trial))

    plain = run(skewed, 14, acquisition=acquisition, surrogate=surrogate)
    thousand = run(lambda trial: 1000 * skewed(trial), 14, acquisition=acquisition, surrogate=surrogate)
    first, second = pellucid.explain_proposal(plain, 13), pellucid.explain_proposal(thousand, 13)
    assert [c.value for c in first.contributions] == [c.value for c in second.contributions]
    for a, b in zip(first.contributions, second.contributions, strict=True):
        assert b.total == pytest.approx(1000 * a.total, rel=1e-6, abs=1e-6 * abs(second.total))


def test_positive_contributions_are_attractive_in_both_directions(study: Study) -> None:
    mirrored = run(lambda trial: -tilted(trial), direction="maximize")
    for number in (8, 15):
        down, up = pellucid.explain_proposal(study, number), pellucid.explain_proposal(mirrored, number)
        assert (down.direction, up.direction) == ("minimize", "maximize")
        assert up.mean == pytest.approx(-down.mean)
        for a, b in zip(down.contributions, up.contributions, strict=True):
            assert b.total == pytest.approx(a.total, rel=1e-9, abs=1e-12)
    assert "low predicted objective" in str(pellucid.explain_proposal(study, 15))
    assert "high predicted objective" in str(pellucid.explain_proposal(mirrored, 15))


def test_a_warped_payout_of_the_mean_is_in_the_unit_of_the_objective() -> None:
    study = run(lambda trial: math.exp(6 * tilted(trial)), 16, acquisition=LCB(1.0))
    explanation = pellucid.explain_proposal(study, 15)
    rebuilt = pellucid.rebuild(study, 15)
    assert explanation.transformed
    gp = rebuilt.surrogate
    x = rebuilt.encode([rebuilt.receipt.params])
    average = gp.latent(np.random.default_rng(0).random((20_000, 3)))[0].mean()
    typical, proposal = gp.losses(np.array([average])), gp.losses(gp.latent(x)[0])
    assert explanation.payouts["mean"] == pytest.approx(float((typical - proposal)[0]), rel=0.1)


def test_the_sentence_names_what_matters_and_leaves_out_what_does_not(study: Study) -> None:
    late = str(pellucid.explain_proposal(study, 19))
    assert late.startswith("Trial 19 was proposed mainly for `a` = ")
    assert "% of its appeal: low predicted objective)" in late
    assert "`idle`" not in late.split(";", maxsplit=1)[0]


def test_many_parameters_are_sampled_with_intervals() -> None:
    def wide(trial: Trial) -> float:
        return sum((trial.suggest_float(f"p{i}", 0, 1) - 0.07 * i) ** 2 for i in range(13))

    explanation = pellucid.explain_proposal(run(wide, 10), 9)
    check(explanation)
    assert len(explanation.contributions) == 13
    assert explanation.n_samples > 0
    assert any(c.low < c.high for c in explanation.contributions)


def test_a_radial_kernel_has_no_closed_form_and_says_so() -> None:
    explanation = pellucid.explain_proposal(run(n=10, surrogate=GaussianProcess("matern52-radial")), 9)
    check(explanation)
    assert explanation.exact == ()


def nested(trial: Trial) -> float:
    """`layers` exists for nets, `u0` and `u1` for nets with enough layers."""
    model = trial.suggest_categorical("model", ["svm", "tree", "net"])
    value = trial.suggest_float("lr", 0, 1) ** 2
    if model == "net":
        layers = trial.suggest_int("layers", 1, 3)
        for i in range(layers):
            value += (trial.suggest_float(f"u{i}", 0, 1) - 0.4) ** 2 - 0.2
    return value


def test_sampled_terms_play_the_same_game_as_the_closed_form() -> None:
    """In a nested space, the mean estimated like any other term is the closed form's: children are drawn."""
    study = run(nested, 40)
    view = StudyView.of(study, "test")
    proposed = [number for number in range(20, 40) if "u1" in view.by_number[number].params][-1]
    case = case_of(view, proposed)
    for background in ("global", "local", "hybrid"):
        parts = parts_of(background, case.game.space, case.game.x, case.game.players)  # type: ignore[arg-type]
        sampled = estimated(case.game, parts, 0.95, {})
        k = case.game.names.index("mean")
        exact = -np.mean(
            [
                mean_shapley(case.game.gp, case.game.x, case.game.space, case.game.players, part).values
                for part in parts
            ],
            axis=0,
        )
        tolerance = 2.0 * sampled.half_widths[:, k] + 1e-3 * np.abs(exact).max()
        np.testing.assert_array_less(np.abs(sampled.values[:, k] - exact), tolerance)


@pytest.mark.parametrize("acquisition", [EI(), SAWEI()], ids=["EI", "SAWEI"])
def test_near_the_incumbent_no_sentence_says_that_little_is_known(acquisition: Any) -> None:
    study = run(bowl, 22, acquisition=acquisition, surrogate=NO_WARP)
    for number in (18, 20, 21):
        assert "little was known" not in str(pellucid.explain_proposal(study, number))
    assert "exploration" not in str(pellucid.desirability_paths(study, progress=False))


def test_mainly_means_at_least_half() -> None:
    def many(trial: Trial) -> float:
        return sum((trial.suggest_float(f"p{i:02d}", 0, 1) - 0.5) ** 2 for i in range(16))

    study = run(many, 40)  # With fewer trials the model is sure of no effect, and names none.
    for explanation in pellucid.desirability_paths(study, range(34, 40), progress=False).explanations:
        shares = [int(v) for v in re.findall(r"\((\d+)%(?: of|\)|:)", str(explanation))]
        if "mainly for" in str(explanation):
            assert sum(shares) >= 49
        else:
            assert " partly for " in str(explanation)


def test_the_estimate_does_not_depend_on_the_level(study: Study) -> None:
    usual, strict = (pellucid.explain_proposal(study, 15, level=level) for level in (0.8, 0.999))
    assert [c.total for c in usual.contributions] == [c.total for c in strict.contributions]
    assert all(a.high - a.low <= b.high - b.low for a, b in zip(usual.contributions, strict.contributions, strict=True))


def test_variance_at_any_scale() -> None:
    for scale in (1e200, 1e-200):
        explanation = pellucid.explain_proposal(
            run(lambda t, s=scale: s * tilted(t), 10, acquisition=PosteriorVariance()), 9
        )
        check(explanation)
        assert explanation.total > 0.0
