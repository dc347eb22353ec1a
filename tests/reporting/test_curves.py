"""What a report says about learning curves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import Trial, TrialState
from tests.overviews import instead, with_answers_of
from tests.plots.curve_studies import curve_study, rising

import pellucid
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import PRUNING, RECOMMENDATION, STOP
from pellucid.answers.doubts import doubts
from pellucid.answers.finding import NotKnown
from pellucid.answers.on_pages import CURVES
from pellucid.answers.pruning.records import PruningRecord
from pellucid.beliefs.of_study import beliefs_of
from pellucid.surfaces.page.figures import key_figures
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.page import page


@pytest.fixture(scope="module")
def answers() -> Overview:
    return gather(curve_study(), progress=False)


def section(text: str) -> str:
    """The section on learning curves; empty if there is none."""
    _, _, rest = text.partition('<section id="curves">')
    return rest.partition("</section>")[0]


def with_curves(answers: Overview, study: optuna.Study) -> Overview:
    """What curves say is quick to compute; the other answers are not, and stay."""
    other = Overview(beliefs_of(study))
    known = {key: record for key, record in answers._known.items() if ".pruning:" not in key[0]}
    return with_answers_of(
        replace(answers, beliefs=other.beliefs, _known=known, _subjects={}), other, PRUNING, CURVES, STOP
    )


def record_of(answers: Overview) -> PruningRecord:
    record = answers.ask(PRUNING)
    assert isinstance(record, PruningRecord)
    return record


# ---------------------------------------------------------------------- the section


def test_the_section_has_the_record_all_curves_and_the_likeliest_stopped_trials(answers: Overview) -> None:
    text = section(page(answers))
    record = record_of(answers)
    assert record.sentence in text
    assert record.notes[0] in text
    order = [row.trial for row in sorted(record.rows, key=lambda row: -row.chance)]
    figures = ["pruning", "curves", *(f"stopped-{trial}" for trial in order)]
    assert [part.partition('"')[0] for part in text.split('data-figure="')[1:]] == figures


def test_at_most_three_stopped_trials_are_explained() -> None:
    answers = Overview(beliefs_of(curve_study(20, stopped=range(8, 20, 2))))
    explained = [question.subject.trial for question in answers.shown(STOP)]
    assert len(explained) == 3
    chances = {row.trial: row.chance for row in record_of(answers).rows}
    assert [chances[trial] for trial in explained if trial is not None] == sorted(chances.values(), reverse=True)[:3]


def test_without_curves_there_is_no_section() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    gathered = gather(study, progress=False)
    assert not gathered.applies(CURVES)
    text = page(gathered)
    assert section(text) == ""
    assert "Learning curves" not in text


def test_several_objectives_have_no_curves() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1),) * 2, n_trials=2)
    assert not gather(study, progress=False).applies(CURVES)


def test_too_few_complete_curves_are_shown_with_the_reason() -> None:
    gathered = gather(curve_study(4, stopped=(1, 3)), progress=False)
    assert isinstance(gathered.ask(PRUNING), NotKnown)
    text = section(page(gathered))
    assert "a model of curves needs at least 4 complete trials" in text
    assert text.count("data-figure") == 1
    assert "2 of 4 trials were pruned; the last value of each counts" in " ".join(doubts(gathered))
    assert "pruning" not in dict(key_figures(gathered))


def test_without_a_stopped_trial_only_curves_and_predictions_are_shown(answers: Overview) -> None:
    text = section(page(with_curves(answers, curve_study(stopped=()))))
    assert "No trial was stopped early: 14 trials ran to their end." in text
    assert text.count("data-figure") == 2


def test_running_and_failed_trials_have_curves_too() -> None:
    def objective(trial: Trial) -> float:
        trial.report(trial.suggest_float("x", 0, 1), 1)
        raise RuntimeError

    study = curve_study()
    study.optimize(objective, n_trials=1, catch=RuntimeError)
    study.ask().report(0.2, 1)
    curves = Overview(beliefs_of(study)).found(CURVES)
    assert curves is not None
    assert curves.sentence.startswith(
        "16 trials reported a learning curve: 11 complete, 3 stopped early, 1 failed, 1 running."
    )
    assert [curve.state for curve in curves.curves[-2:]] == ["failed", "running"]


def test_ten_thousand_steps_keep_the_page_small(answers: Overview) -> None:
    short, long = (len(page(with_curves(answers, curve_study(8, steps, stopped=(7,))))) for steps in (50, 10_000))
    assert long - short < 100_000


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_name_of_the_objective_stays_text(answers: Overview, direction: str) -> None:
    study = curve_study(name="<b>acc</b>", direction=direction)
    text = section(page(with_curves(answers, study)))
    assert "<b>" not in text
    assert "beaten &lt;b&gt;acc&lt;/b&gt;" in text


def test_one_step_diverged_and_constant_curves_get_a_section(answers: Overview) -> None:
    def diverged(x: float, step: int, steps: int) -> float:
        return -1e9 * step if x > 0.8 and step > 2 else rising(x, step, steps)

    for study in (curve_study(steps=1), curve_study(curve=diverged), curve_study(curve=lambda *_: 0.5)):
        assert "14 trials reported a learning curve" in section(page(with_curves(answers, study)))


# ---------------------------------------------------------------------- what to distrust


def test_a_stop_that_may_have_lost_the_best_trial_is_a_doubt_with_an_action(answers: Overview) -> None:
    record = record_of(answers)
    rows = tuple(replace(row, chance=0.29) if row.trial == 11 else row for row in record.rows)
    likely = replace(record, lost=0.31, likeliest=11, rows=rows)
    reasons = doubts(instead(answers, PRUNING, likely))
    reason = next(reason for reason in reasons if "stopped early would have been the best" in reason)
    assert "with a chance of 31% (trial 11 alone: 29%)" in reason
    assert reason.endswith(": run trial 11 again to its end.")
    unlikely = replace(record, lost=0.09)
    assert "run trial" not in " ".join(doubts(instead(answers, PRUNING, unlikely)))


def test_stopped_trials_with_a_promised_value_are_mentioned_once(answers: Overview) -> None:
    assert answers.view.extrapolation is not None
    said = "3 of 14 trials have not run to their end: the model predicts their values from learning curves."
    # The card that says what to use has it, so that the reasons for doubt need not repeat it.
    use = answers.found(RECOMMENDATION)
    assert use is not None
    assert said in use.notes
    assert said not in doubts(answers)


# ---------------------------------------------------------------------- Optuna Dashboard


def test_the_record_is_published_if_a_trial_was_stopped(answers: Overview) -> None:
    assert "pruning" in dict(key_figures(answers))
    assert "pruning" not in dict(key_figures(with_curves(answers, curve_study(stopped=()))))


# ---------------------------------------------------------------------- any pruner


def test_a_report_of_a_study_with_a_curve_pruner_names_its_reasons(tmp_path: Path) -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        for step in range(1, 21):
            trial.report(0.2 if x > 0.5 else rising(x, step, 20), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return rising(x, 20, 20) if x <= 0.5 else 0.2

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0), pruner=pellucid.CurvePruner(keep=1.0)
    )
    study.optimize(objective, n_trials=15)
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)
    text = section(pellucid.report(study, tmp_path / "report.html", progress=False).read_text(encoding="utf-8"))
    assert "was needed" in text
    assert "no reason was recorded" not in text
