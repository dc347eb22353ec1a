"""Why a trial was proposed: from receipts, for every acquisition, and for trials of other samplers."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial
from tests.helpers import RECEIPT_KEY, ROOT, bowl, conditional

import pellucid
from pellucid.acquisition import EI, LCB, PI, SAWEI, WEI, InformationGain, PosteriorVariance
from pellucid.explain.proposals.background import parts_of
from pellucid.explain.proposals.cases import case_of
from pellucid.explain.proposals.games import estimated
from pellucid.explain.proposals.shapley_mean import mean_shapley
from pellucid.explain.shapley import shapley_values
from pellucid.records import ProposalExplanation, RecordError
from pellucid.surrogates import GaussianProcess

NO_WARP = GaussianProcess()


def tilted(trial: Trial) -> float:
    """`a` matters most, `b` less, `idle` not at all."""
    a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
    trial.suggest_float("idle", 0, 1)
    return 3 * (a - 0.2) ** 2 + (b - 0.7) ** 2


def run(
    objective: Callable[[Trial], float] = tilted, n: int = 20, direction: str = "minimize", **options: Any
) -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6, **options)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return run()


@pytest.fixture(scope="module")
def tpe() -> Study:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(tilted, n_trials=25)
    return study


def check(found: ProposalExplanation) -> None:
    """What holds for every explanation: efficiency, linearity across terms, intervals around values, a sentence."""
    scale = 1e-12 + max(abs(c.total) for c in found.contributions) + sum(abs(v) for v in found.payouts.values())
    assert sum(c.total for c in found.contributions) == pytest.approx(found.total, abs=1e-9 * scale)
    assert sum(found.payouts.values()) == pytest.approx(found.total, abs=1e-9 * scale)
    for c in found.contributions:
        assert sum(c.terms.values()) == pytest.approx(c.total, abs=1e-9 * scale)
        assert c.low <= c.total <= c.high
        for term in found.term_names:
            assert c.term_low[term] <= c.terms[term] <= c.term_high[term]
            if term in found.exact:
                assert c.term_low[term] == c.term_high[term]
    for term in found.term_names:
        shared = sum(c.terms[term] for c in found.contributions)
        assert shared == pytest.approx(found.payouts[term], abs=1e-9 * scale)
    assert str(found).startswith(("Trial", "Pellucid", "Compared"))
    json.dumps(found.to_dict())


# ---------------------------------------------------------------------- every acquisition


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
    found = pellucid.explain_proposal(study, 8)
    check(found)
    assert found.term_names == terms
    assert found.unit == unit
    assert found.proposed
    assert [c.name for c in found.contributions] == ["a", "b", "idle"]
    assert [c.value for c in found.contributions] == [study.trials[8].params[n] for n in ("a", "b", "idle")]


def test_interleaved_trials_are_explained_by_what_they_were_for() -> None:
    study = run(n=12, interleave=pellucid.Interleave(["a"]))
    learning, improving = pellucid.explain_proposal(study, 10), pellucid.explain_proposal(study, 11)
    assert learning.term_names == ("information",)
    assert "to learn about the effect of `a`" in str(learning)
    assert improving.term_names == ("mean", "uncertainty")
    multiplied = run(n=9, interleave=pellucid.Interleave(mode="multiply"))
    found = pellucid.explain_proposal(multiplied, 8)
    check(found)
    assert found.term_names == ("improvement", "information")
    assert found.unit == "log"


def test_the_payout_is_the_acquisition_minus_its_average() -> None:
    study = run(n=12, acquisition=LCB(2.0), surrogate=NO_WARP)
    found = pellucid.explain_proposal(study, 11)
    rebuilt = pellucid.rebuild(study, 11)
    scale = rebuilt.surrogate.hyperparameters.y_scale
    x = rebuilt.encode([rebuilt.receipt.params])
    Z = np.random.default_rng(0).random((40_000, 3))
    u = rebuilt.acquisition(Z)
    sampled = scale * (float(rebuilt.acquisition(x)[0]) - u.mean())
    assert found.total == pytest.approx(sampled, abs=5 * scale * u.std() / 200)
    assert found.weights == {"mean": 1.0, "uncertainty": 2.0}
    assert not found.transformed
    mean, sd = rebuilt.predict([rebuilt.receipt.params])
    assert (found.mean, found.sd) == (pytest.approx(float(mean[0])), pytest.approx(float(sd[0])))


def test_contributions_are_those_of_plain_enumeration() -> None:
    """The fast path through kernel factors and shifted nets, against the general one on a large random background."""
    study = run(n=12, acquisition=EI(), surrogate=NO_WARP)
    found = pellucid.explain_proposal(study, 11)
    rebuilt = pellucid.rebuild(study, 11)
    scale = rebuilt.surrogate.hyperparameters.y_scale
    x = rebuilt.encode([rebuilt.receipt.params])[0]
    Z = np.random.default_rng(1).random((4000, 3))

    def terms(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return scale * np.stack(list(rebuilt.acquisition.terms(X).values()), axis=1)

    plain = shapley_values(terms, x, Z, "sampled", n_samples=4000)
    for i, c in enumerate(found.contributions):
        for k, term in enumerate(("exploit", "explore")):
            room = 3.0 * plain.half_widths[i, k] + c.term_high[term] - c.term_low[term]
            assert c.terms[term] == pytest.approx(plain.values[i, k], abs=room)


# ---------------------------------------------------------------------- units and directions


@pytest.mark.parametrize("acquisition", [LCB(2.0), EI()], ids=["LCB", "EI"])
@pytest.mark.parametrize("surrogate", [NO_WARP, GaussianProcess(warp="auto")], ids=["plain", "warped"])
def test_contributions_scale_with_the_objective(acquisition: Any, surrogate: GaussianProcess) -> None:
    def skewed(trial: Trial) -> float:
        return math.exp(4 * tilted(trial))

    one = run(skewed, 14, acquisition=acquisition, surrogate=surrogate)
    thousand = run(lambda trial: 1000 * skewed(trial), 14, acquisition=acquisition, surrogate=surrogate)
    first, second = pellucid.explain_proposal(one, 13), pellucid.explain_proposal(thousand, 13)
    assert [c.value for c in first.contributions] == [c.value for c in second.contributions]
    for a, b in zip(first.contributions, second.contributions, strict=True):
        assert b.total == pytest.approx(1000 * a.total, rel=1e-6, abs=1e-6 * abs(second.total))


def test_positive_is_attractive_whatever_the_direction(study: Study) -> None:
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
    found = pellucid.explain_proposal(study, 15)
    rebuilt = pellucid.rebuild(study, 15)
    assert found.transformed
    gp = rebuilt.surrogate
    x = rebuilt.encode([rebuilt.receipt.params])
    average = gp.latent(np.random.default_rng(0).random((20_000, 3)))[0].mean()
    typical, here = gp.losses(np.array([average])), gp.losses(gp.latent(x)[0])
    assert found.payouts["mean"] == pytest.approx(float((typical - here)[0]), rel=0.1)


def test_the_sentence_names_what_matters_and_leaves_out_what_does_not(study: Study) -> None:
    late = str(pellucid.explain_proposal(study, 19))
    assert late.startswith("Trial 19 was proposed mainly for `a` = ")
    assert "% of its appeal: low predicted objective)" in late
    assert "`idle`" not in late.split(";", maxsplit=1)[0]


# ---------------------------------------------------------------------- what it is compared with


def test_backgrounds_and_baselines(study: Study) -> None:
    everywhere = pellucid.explain_proposal(study, 15)
    near, both = (pellucid.explain_proposal(study, 15, background=name) for name in ("local", "hybrid"))  # type: ignore[arg-type]
    for found in (everywhere, near, both):
        check(found)
    assert abs(near.payouts["mean"]) < abs(everywhere.payouts["mean"])
    for a, b, c in zip(everywhere.contributions, near.contributions, both.contributions, strict=True):
        # Shapley values are linear in the mixture; units differ by the conversion where the model is warped.
        if not everywhere.transformed:
            assert c.terms["mean"] == pytest.approx(0.5 * (a.terms["mean"] + b.terms["mean"]), abs=1e-9)
    assert str(near).startswith("Compared with the average configuration within 10% of every range, trial 15 was")


def test_against_a_baseline_nothing_is_sampled(study: Study) -> None:
    incumbent = pellucid.explain_proposal(study, 15, baseline="incumbent")
    by_number = pellucid.explain_proposal(study, 15, baseline=3)
    same = pellucid.explain_proposal(study, 15, baseline=study.trials[3].params)
    for found in (incumbent, by_number, same):
        check(found)
        assert found.n_samples == 0
        assert found.background == "baseline"
        assert all(c.low == c.high for c in found.contributions)
    assert by_number.compared_with == "trial 3"
    assert [c.total for c in by_number.contributions] == [c.total for c in same.contributions]
    itself = pellucid.explain_proposal(study, 15, baseline=15)
    assert itself.total == pytest.approx(0.0, abs=1e-9)


def test_parameters_that_the_proposal_lacks_take_no_share() -> None:
    study = run(conditional, 30)
    explained = pellucid.desirability_paths(study, progress=False)
    shapes = set()
    for found in explained.explanations:
        check(found)
        names = {c.name for c in found.contributions}
        assert names == study.trials[found.trial].params.keys()
        shapes.add(frozenset(names))
    assert len(shapes) > 1, "the study should have proposed with and without the conditional parameters"
    assert set(explained.params) == {"lr", "depth", "booster", "drop", "skip"}


def test_many_parameters_are_sampled_with_intervals() -> None:
    def wide(trial: Trial) -> float:
        return sum((trial.suggest_float(f"p{i}", 0, 1) - 0.07 * i) ** 2 for i in range(13))

    found = pellucid.explain_proposal(run(wide, 10), 9)
    check(found)
    assert len(found.contributions) == 13
    assert found.n_samples > 0
    assert any(c.low < c.high for c in found.contributions)


def test_a_radial_kernel_has_no_closed_form_and_says_so() -> None:
    found = pellucid.explain_proposal(run(n=10, surrogate=GaussianProcess("matern52-radial")), 9)
    check(found)
    assert found.exact == ()


# ---------------------------------------------------------------------- trials of other samplers


def test_a_trial_of_another_sampler_is_marked_as_such(tpe: Study) -> None:
    found = pellucid.explain_proposal(tpe, 20)
    check(found)
    assert not found.proposed
    assert str(found).startswith("Pellucid did not propose trial 20; its model would have")
    assert found.n_trials == 20
    assert "what its model would have said" in found.plot().layout.title.text
    paths = pellucid.desirability_paths(tpe, range(10, 14), progress=False)
    assert "none of them was proposed by pellucid: this is what its model would have said" in str(paths)


def test_only_trials_that_had_finished_count(tpe: Study) -> None:
    """What a hypothetical model saw: by time, not by number."""
    late = optuna.create_study()
    for trial in tpe.trials[:10]:
        late.add_trial(trial)
    slow = late.ask(dict(tpe.trials[0].distributions))
    for trial in tpe.trials[10:15]:
        late.add_trial(trial)
    late.tell(slow, 1.0)
    quick = late.ask(dict(tpe.trials[0].distributions))
    assert pellucid.explain_proposal(late, quick.number).n_trials == 16
    with pytest.raises(
        ValueError, match=r"Trial 2 was not proposed by pellucid, and a model needs .* but there were 2"
    ):
        pellucid.explain_proposal(late, 2)


def test_ranges_that_changed_and_parameters_that_are_new() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))

    def moving(trial: Trial) -> float:
        late = trial.number >= 12
        x = trial.suggest_float("x", 0, 2 if late else 1)
        return x * x + (trial.suggest_float("new", 0, 1) if late else 0.0)

    study.optimize(moving, n_trials=13)
    found = pellucid.explain_proposal(study, 12)
    check(found)
    assert [c.name for c in found.contributions] == ["x"]
    assert "No finished trial had had `new` before" in str(found)


# ---------------------------------------------------------------------- bad input


def test_startup_trials_say_so(study: Study) -> None:
    with pytest.raises(ValueError, match="Trial 3 was sampled to cover the space, not proposed by the model"):
        pellucid.explain_proposal(study, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trial": 99}, "The study has no trial 99; its trials are 0 to 19"),
        ({"trial": -1}, "The study has no trial -1"),
        ({"trial": 10, "background": "nearby"}, "`background` is one of global, local, hybrid, but got 'nearby'"),
        ({"trial": 10, "baseline": "best"}, "`baseline` is None, a trial number, 'incumbent' or a dictionary"),
        ({"trial": 10, "baseline": 77}, "`baseline` is trial 77, but the study's trials are 0 to 19"),
        (
            {"trial": 10, "baseline": {"lr": 1.0}},
            "`baseline` names `lr`, but the study has `a`, `b`, `idle`",
        ),
        ({"trial": 10, "baseline": {"a": 7.0}}, "`baseline` lies outside the ranges"),
        ({"trial": 10, "level": 95}, "`level` must be between 0 and 0.9999, but got 95"),
    ],
)
def test_wrong_requests_are_explained(study: Study, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.explain_proposal(study, **arguments)


def test_empty_and_multi_objective_studies() -> None:
    with pytest.raises(ValueError, match="The study has no trials yet"):
        pellucid.explain_proposal(optuna.create_study(), 0)
    with pytest.raises(ValueError, match="The study has no trials yet"):
        pellucid.desirability_paths(optuna.create_study())
    with pytest.raises(ValueError, match="works on studies with one objective"):
        pellucid.explain_proposal(optuna.create_study(directions=["minimize", "maximize"]), 0)


def test_failed_running_and_nan_trials_are_explained_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def fragile(trial: Trial) -> float:
        value = tilted(trial)
        if trial.number == 8:
            raise RuntimeError("out of memory")
        return math.nan if trial.number == 9 else value

    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler)
    caplog.set_level(logging.CRITICAL)
    study.optimize(fragile, n_trials=11, catch=(RuntimeError,))
    for number in (8, 9):
        assert study.trials[number].state == TrialState.FAIL
        assert "The trial failed afterwards." in str(pellucid.explain_proposal(study, number))
    distributions = study.trials[0].distributions
    running = study.ask(distributions)
    found = pellucid.explain_proposal(study, running.number)
    check(found)
    assert "The trial is still running." in str(found)
    bare = optuna.create_study()
    bare.add_trials(study.trials[:8])
    for trial in study.trials[:8]:
        assert trial.values is not None
    empty = bare.ask()
    with pytest.raises(ValueError, match=f"Trial {empty.number} has no parameters yet"):
        pellucid.explain_proposal(bare, empty.number)


def test_an_enqueued_trial_is_not_what_was_proposed() -> None:
    study = run(n=8)
    study.enqueue_trial({"a": 0.9})
    study.optimize(tilted, n_trials=1)
    found = pellucid.explain_proposal(study, 8)
    assert "ran with other values than were proposed (`a` = 0.9" in str(found)
    assert found.contributions[0].value != 0.9


def test_copied_and_damaged_receipts(study: Study) -> None:
    copied = optuna.create_study()
    copied.add_trials(study.trials[5:12])
    with pytest.raises(ValueError, match="was written for trial 10"):
        pellucid.explain_proposal(copied, 5)
    damaged = study.trials[10]
    damaged.system_attrs[f"{RECEIPT_KEY}:0"] = "{not json"
    other = optuna.create_study()
    other.add_trials([*study.trials[:10], damaged])
    with pytest.raises(RecordError, match="damaged"):
        pellucid.explain_proposal(other, 10)
    paths = pellucid.desirability_paths(other, [9, 10], progress=False)
    assert list(paths.skipped) == [10]
    assert "1 of 2 trials could not be explained." in str(paths)


def test_a_constant_objective_and_a_single_parameter() -> None:
    def constant(trial: Trial) -> float:
        trial.suggest_float("x", 0, 1)
        return 1.0

    found = pellucid.explain_proposal(run(constant, 9), 8)
    check(found)
    assert all(np.isfinite(c.total) for c in found.contributions)


def test_huge_and_infinite_values() -> None:
    def wild(trial: Trial) -> float:
        value = 1e300 * tilted(trial)
        return math.inf if trial.number == 7 else value

    found = pellucid.explain_proposal(run(wild, 12), 11)
    assert all(np.isfinite(c.total) for c in found.contributions)
    assert np.isfinite(found.total)


# ---------------------------------------------------------------------- over the run


def test_paths_are_the_explanations_one_by_one(study: Study) -> None:
    paths = pellucid.desirability_paths(study, progress=False)
    assert [one.trial for one in paths.explanations] == list(range(6, 20))
    assert paths.explanations[4] == pellucid.explain_proposal(study, 10)
    assert paths.skipped == {}
    assert str(paths).startswith("Over 14 proposals (trials 6 to 19), `a` (")
    frame = paths.to_frame()
    assert list(frame.columns) == ["trial", "parameter", "value", "contribution", "low", "high", "mean", "uncertainty"]
    assert len(frame) == 14 * 3
    json.dumps(paths.to_dict())
    some = pellucid.desirability_paths(study, [3, 7, 99], progress=False)
    assert list(some.skipped) == [3, 99]
    with pytest.raises(ValueError, match="None of the 1 trials asked for has a proposal"):
        pellucid.desirability_paths(study, [0], progress=False)


def test_exploration_gives_way_to_prediction() -> None:
    """A search that is made to explore: early proposals are mainly uncertainty, late ones are not."""
    study = run(bowl, 30, acquisition=LCB(6.0), surrogate=NO_WARP)
    paths = pellucid.desirability_paths(study, progress=False)
    exploring = [one.payouts["uncertainty"] > one.payouts["mean"] for one in paths.explanations]
    assert sum(exploring[:6]) > sum(exploring[-6:])
    assert f"{sum(exploring)} of them were mainly exploration" in str(paths)


# ---------------------------------------------------------------------- what a second reader found


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
    found = {t.number: t for t in study.get_trials()}
    proposed = [t for t in range(20, 40) if "u1" in found[t].params][-1]
    case = case_of(found, proposed, 1.0)
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
        room = 2.0 * sampled.half_widths[:, k] + 1e-3 * np.abs(exact).max()
        np.testing.assert_array_less(np.abs(sampled.values[:, k] - exact), room)


def test_a_parameter_that_comes_and_goes_takes_no_share_and_leaves_no_gap() -> None:
    dice = np.random.default_rng(0)

    def sometimes(trial: Trial) -> float:
        value = trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_float("y", -1, 1) ** 2
        return value + (trial.suggest_float("z", -1, 1) if dice.random() < 0.5 else 0.0)

    study = optuna.create_study(sampler=RandomSampler(seed=1))
    study.optimize(sometimes, n_trials=30)
    lacking = [t.number for t in study.trials if t.number > 15 and "z" not in t.params]
    for number in lacking[:3]:
        found = pellucid.explain_proposal(study, number)
        check(found)
        assert [c.name for c in found.contributions] == ["x", "y"]


@pytest.mark.parametrize("acquisition", [EI(), SAWEI()], ids=["EI", "SAWEI"])
def test_near_the_incumbent_nobody_says_that_little_is_known(acquisition: Any) -> None:
    study = run(bowl, 22, acquisition=acquisition, surrogate=NO_WARP)
    for number in (18, 20, 21):
        assert "little was known" not in str(pellucid.explain_proposal(study, number))
    assert "exploration" not in str(pellucid.desirability_paths(study, progress=False))


def test_mainly_means_at_least_half() -> None:
    def many(trial: Trial) -> float:
        return sum((trial.suggest_float(f"p{i:02d}", 0, 1) - 0.5) ** 2 for i in range(16))

    study = run(many, 20)
    for found in pellucid.desirability_paths(study, range(14, 20), progress=False).explanations:
        shares = [int(v) for v in re.findall(r"\((\d+)%(?: of|\)|:)", str(found))]
        if "mainly for" in str(found):
            assert sum(shares) >= 49
        else:
            assert re.search(r"most of all \(together \d+%\) for", str(found))


def test_choices_that_are_lists_or_nan() -> None:
    def odd(trial: Trial) -> float:
        shape = trial.suggest_categorical("shape", [[1, 2], (3, 4), None])
        hole = trial.suggest_categorical("hole", [math.nan, 1.0])
        return trial.suggest_float("x", 0, 1) ** 2 + (0.3 if shape is None else 0.0) - (0.2 if hole != hole else 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's, about choices that a storage may not keep.
        study = run(odd, 18)
    for found in pellucid.desirability_paths(study, progress=False).explanations:
        check(found)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "other values than were proposed" not in str(found)


def test_a_study_in_which_nothing_varies() -> None:
    study = run(lambda trial: trial.suggest_float("fixed", 3, 3) + trial.number, 12)
    with pytest.raises(ValueError, match=r"(No parameter of trial 9 varies|sampled to cover the space|at random)"):
        pellucid.explain_proposal(study, 9)


def test_against_itself_there_is_nothing_to_say(study: Study) -> None:
    text = str(pellucid.explain_proposal(study, 12, baseline=12))
    assert text == (
        "Compared with trial 12, trial 12 was proposed although no single parameter made the difference: to the model "
        "it was no better than trial 12."
    )


def test_baselines_must_be_whole_but_may_name_fixed_parameters() -> None:
    def fixed(trial: Trial) -> float:
        return tilted(trial) + trial.suggest_float("fixed", 1, 1)

    study = run(fixed, 14)
    study.enqueue_trial({"a": 0.2})
    with pytest.raises(ValueError, match="trial 14 lacks `a`, `b`, `idle`"):
        pellucid.explain_proposal(study, 12, baseline=14)
    with pytest.raises(ValueError, match="the given baseline lacks `b`, `idle`"):
        pellucid.explain_proposal(study, 12, baseline={"a": 0.5})
    best = pellucid.explain_proposal(study, 12, baseline=study.best_params)
    same = pellucid.explain_proposal(study, 12, baseline=np.int64(study.best_trial.number))  # type: ignore[arg-type]
    assert [c.total for c in best.contributions] == [c.total for c in same.contributions]
    for wrong in (np.zeros(2), 1.5, True):
        with pytest.raises(ValueError, match="`baseline` is None, a trial number"):
            pellucid.explain_proposal(study, 12, baseline=wrong)  # type: ignore[arg-type]


def test_neighbours_of_an_integer_with_millions_of_values() -> None:
    def huge(trial: Trial) -> float:
        return (trial.suggest_int("n", 0, 10**9) / 1e9 - 0.3) ** 2 + trial.suggest_int("k", 1, 10**6, log=True) / 1e6

    found = pellucid.explain_proposal(run(huge, 12), 11, background="local")
    check(found)


def test_copied_studies_say_that_they_were_copied(study: Study) -> None:
    copied = optuna.create_study()
    copied.add_trials(study.trials[10:17])
    with pytest.raises(ValueError, match="was written for trial 10: the trials were copied"):
        pellucid.desirability_paths(copied, progress=False)


def test_trials_of_a_path_are_numbers_each_once(study: Study) -> None:
    paths = pellucid.desirability_paths(study, [15, 10, 15, 2, 2], progress=False)
    assert [one.trial for one in paths.explanations] == [10, 15]
    assert str(paths).startswith("Over 2 proposals (trials 10 to 15), ")
    assert str(paths).endswith("1 of 3 trials could not be explained.")
    assert str(pellucid.desirability_paths(study, [15], progress=False)).startswith("In trial 15, `a` (")
    for wrong in (5, "15", [10.7], [True]):
        with pytest.raises(ValueError, match="`trials` is a list of trial numbers"):
            pellucid.desirability_paths(study, wrong, progress=False)  # type: ignore[arg-type]
    for wrong in ("12", [1], 1.0, None):
        with pytest.raises(ValueError, match="A trial is named by its number"):
            pellucid.explain_proposal(study, wrong)  # type: ignore[arg-type]


def test_imagined_values_of_failed_trials_are_not_counted() -> None:
    def fragile(trial: Trial) -> float:
        value = tilted(trial)
        if trial.number % 3 == 0:
            raise RuntimeError("out of memory")
        return value

    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))
    study.optimize(fragile, n_trials=20, catch=(RuntimeError,))
    found = pellucid.explain_proposal(study, 19)
    finished = sum(t.state == TrialState.COMPLETE for t in study.trials[:19])
    assert found.n_trials == finished


def test_the_estimate_does_not_depend_on_the_level(study: Study) -> None:
    usual, strict = (pellucid.explain_proposal(study, 15, level=level) for level in (0.8, 0.999))
    assert [c.total for c in usual.contributions] == [c.total for c in strict.contributions]
    assert all(a.high - a.low <= b.high - b.low for a, b in zip(usual.contributions, strict.contributions, strict=True))


def test_variance_at_any_scale() -> None:
    for scale in (1e200, 1e-200):
        found = pellucid.explain_proposal(run(lambda t, s=scale: s * tilted(t), 10, acquisition=PosteriorVariance()), 9)
        check(found)
        assert found.total > 0.0


# ---------------------------------------------------------------------- interactions


def test_interactions_of_a_proposal() -> None:
    def partners(trial: Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        return 4 * (a - 0.5) * (b - 0.5) + 0.3 * c

    study = run(partners, 30, surrogate=NO_WARP)
    found = pellucid.proposal_interactions(study, 29)
    singles = {("a",), ("b",), ("c",)}
    assert set(found) == {*singles, ("a", "b"), ("a", "c"), ("b", "c")}
    whole = pellucid.explain_proposal(study, 29)
    assert sum(found.values()) == pytest.approx(whole.total, rel=0.03)
    assert max(set(found) - singles, key=lambda pair: abs(found[pair])) == ("a", "b")
    # A Shapley value is what a parameter contributes alone and half of what it does in every pair.
    for c in whole.contributions:
        pairs = sum(value for who, value in found.items() if len(who) == 2 and c.name in who)
        assert found[(c.name,)] + 0.5 * pairs == pytest.approx(c.total, abs=0.03 * abs(whole.total))
    with pytest.raises(ValueError, match="2 to 10 parameters, but trial 8 has 1"):
        pellucid.proposal_interactions(run(lambda t: t.suggest_float("x", 0, 1), 9), 8)


# ---------------------------------------------------------------------- from storage alone


EXPLAIN = """
import json, sys, optuna, pellucid
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name="study", storage=sys.argv[1])
paths = pellucid.desirability_paths(study, progress=False)
numbers = lambda c: [c.total, c.low, c.high, *c.terms.values()]
print(json.dumps([[numbers(c) for c in one.contributions] for one in paths.explanations]))
"""


@pytest.mark.parametrize("objective", [tilted, conditional], ids=["flat", "conditional"])
def test_the_same_in_another_process_on_another_machine(tmp_path: Path, objective: Callable[[Trial], float]) -> None:
    """Every proposal, from a copy of the storage; the other machine is another BLAS kernel and another hash seed."""
    storage = f"sqlite:///{tmp_path}/study.db"
    sampler = pellucid.BayesianSampler(seed=1, n_startup_trials=5)
    study = optuna.create_study(study_name="study", storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=16)
    here = [
        [[c.total, c.low, c.high, *c.terms.values()] for c in one.contributions]
        for one in pellucid.desirability_paths(study, progress=False).explanations
    ]
    assert len(here) == 11
    (tmp_path / "there").mkdir()
    shutil.copy(tmp_path / "study.db", tmp_path / "there" / "copy.db")
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott", "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", EXPLAIN, f"sqlite:///{tmp_path}/there/copy.db"]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    for ours, theirs in zip(here, there, strict=True):
        scale = np.abs(ours).max()
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9 * scale)


def test_importing_nothing_heavy() -> None:
    code = "import pellucid, sys; assert not {'pandas', 'plotly', 'torch', 'shapiq', 'scipy.stats'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_trials_added_by_hand() -> None:
    study = optuna.create_study()
    distributions = {"x": optuna.distributions.FloatDistribution(0, 1)}
    for i in range(8):
        study.add_trial(create_trial(params={"x": i / 8}, distributions=distributions, value=(i / 8 - 0.4) ** 2))
    found = pellucid.explain_proposal(study, 7)
    check(found)
    assert found.n_trials == 7
