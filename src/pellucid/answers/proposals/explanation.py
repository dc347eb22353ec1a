"""Why this trial: Shapley explanations of proposals, from the storage alone.

What is explained is the acquisition, or what was predicted of one objective or constraint. A proposal of pellucid is
explained by the model and the acquisition that chose it, rebuilt from its receipt. A trial of another sampler is
explained by what pellucid's model would have said, given the trials that had finished before.

Inside, numbers are latent and encoded; records are in the user's units, and positive is attractive.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from pellucid.answers import shapley
from pellucid.answers.proposals.background import NEIGHBOURHOOD, Background, Part, parts_of, rows_of
from pellucid.answers.proposals.cases import Case, Shares, case_of, checked_trial
from pellucid.answers.proposals.games import MOST_ENUMERATED, Game
from pellucid.answers.proposals.ranked import ranked_case
from pellucid.answers.proposals.records import (
    Contribution,
    DesirabilityPaths,
    ProposalExplanation,
    ProposalInteractions,
)
from pellucid.answers.proposals.relevance import Relevance
from pellucid.answers.proposals.why import (
    Said,
    contradictions,
    doubted,
    interaction_sentence,
    path_sentence,
    prediction_sentence,
    proposal_sentence,
    unsettled,
)
from pellucid.beliefs import Beliefs
from pellucid.beliefs.of_study import beliefs_of
from pellucid.numerics import Array, is_whole_number, one_thread
from pellucid.progress import progress_bar, tracked
from pellucid.provenance import RankingReceipt
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet, Note, Unanswered, printable

Baseline = int | str | Mapping[str, Any] | None
# Default level of intervals, and the largest: wider t-intervals of a few replicates say nothing.
LEVEL, _LARGEST_LEVEL = 0.95, 0.9999
# Background rows behind interactions: every row is evaluated for all coalitions.
_N_ROWS = 512
# They are evaluated in this many steps of a progress bar, which is shown above this many operations: those take about a
# second.
_N_STEPS, _SLOW_OPERATIONS = 8, 1e10
_COMPARED: dict[Background, str] = {
    "global": "the average configuration of the space",
    "local": f"the average configuration within {100 * NEIGHBOURHOOD:g}% of every range",
    "hybrid": "the average of the space and of the neighbourhood",
}


def explain_proposal(
    study: Study,
    trial: int,
    *,
    objective: str | int | None = None,
    background: Background = "global",
    baseline: Baseline = None,
    level: float = LEVEL,
) -> ProposalExplanation:
    """Which parameters made a proposal attractive, and whether by what was predicted or by what was unknown.

    Args:
        study: any study.
        trial: number of the trial. One that pellucid did not propose is explained by what its model would have said.
        objective: the name or number of an objective, or the name of a constraint: which parameters made its prediction
            what it was, exactly and in its own unit. Default: the acquisition that proposed the trial. With several
            objectives that is the logarithm of what their front was expected to gain; less than a thousandth of the
            largest gain counts as a thousandth.
        background: what the proposal is compared with: the average over the space ("global"), over its neighbourhood
            ("local", within a tenth of every range), or over both ("hybrid").
        baseline: compare with one configuration instead of a background: a trial number, "incumbent" (the trial with
            the best posterior mean), or a dictionary of parameters.
        level: of the intervals around sampled values.
    """
    _check(background, baseline, level)
    with _opened(study, objective) as (beliefs, target):
        return explanation_of(beliefs, trial, background, baseline, level, target=target)


def desirability_paths(
    study: Study,
    trials: Iterable[int] | None = None,
    *,
    objective: str | int | None = None,
    background: Background = "global",
    baseline: Baseline = None,
    level: float = LEVEL,
    progress: bool = True,
) -> DesirabilityPaths:
    """`explain_proposal` over a run: how contributions of parameters and terms changed from proposal to proposal.

    Args:
        trials: numbers of trials; default all that a model of pellucid proposed, or, if there are none, all trials that
            finished.
        progress: show a progress bar, on a terminal or in a notebook.
        study, objective, background, baseline, level: as for `explain_proposal`.
    """
    _check(background, baseline, level)
    with _opened(study, objective) as (beliefs, target):
        view = beliefs.view
        if not view.trials:
            raise NoAnswerYet("The study has no trials yet, so there is nothing to explain.")
        numbers = _default_trials(view) if trials is None else _numbers(trials)
        explanations: list[ProposalExplanation] = []
        skipped: dict[int, ValueError] = {}
        for number in tracked(numbers, "proposals", show=progress):
            try:
                view.trial(number)
            except ValueError as error:
                skipped[number] = error
                continue
            try:
                explanations.append(explanation_of(beliefs, number, background, baseline, level, target=target))
            except Unanswered as reason:
                skipped[number] = reason
    if not explanations:
        first = f" The first: {next(iter(skipped.values()))}" if skipped else ""
        final = all(isinstance(reason, NoAnswer) for reason in skipped.values())
        words = f"None of the {len(numbers)} trials asked for has a proposal that can be explained.{first}"
        raise NoAnswer(words) if final else NoAnswerYet(words)
    left_out = Note(f"{len(skipped)} of {len(numbers)} trials could not be explained.", "omission")
    reasons = {number: str(reason) for number, reason in skipped.items()}
    return DesirabilityPaths(tuple(explanations), reasons, path_sentence(explanations), (left_out,) if skipped else ())


def proposal_interactions(
    study: Study,
    trial: int,
    *,
    objective: str | int | None = None,
    background: Background = "global",
    progress: bool = True,
) -> ProposalInteractions:
    """How parameters worked together in a proposal: what each contributed alone, and each pair beyond that.

    Order-two Shapley interactions (k-SII) of the acquisition, or of a prediction; for proposals of two to ten
    parameters. Needs `pip install 'pellucid[interactions]'`. The first call loads shapiq, which takes seconds.

    Args:
        progress: show a progress bar, on a terminal or in a notebook, if the answer takes seconds.
        study, trial, objective, background: as for `explain_proposal`.
    """
    _check(background, None, LEVEL)
    with _opened(study, objective) as (beliefs, target):
        case = case_of(beliefs.view, trial, target)
        game = case.game
        if not 2 <= len(game.players) <= MOST_ENUMERATED:
            raise NoAnswer(
                f"Interactions are for proposals of 2 to {MOST_ENUMERATED} parameters, but trial {trial} has "
                f"{len(game.players)}."
            )
        parts = parts_of(background, game.space, game.x, game.players)
        v = _averages(game, parts, progress)
        unit = case.unit(case.average_latent(parts))
        values = shapley.interactions(_sign(case, target) * unit.factor * (v @ game.weights))
    names = [game.space.names[j] for j in game.players]
    main = {names[who[0]]: value for who, value in values.items() if len(who) == 1}
    pairs = {(names[who[0]], names[who[1]]): value for who, value in values.items() if len(who) == 2}
    sentence = interaction_sentence(case.trial, main, pairs, unit.name, case.objective)
    compared = _COMPARED[background]
    return ProposalInteractions(
        case.trial, main, pairs, unit.name, compared, sentence, case.notes, case.objective, case.n_trials
    )


def _averages(game: Game, parts: Sequence[Part], progress: bool) -> Array:
    """The terms of every coalition (2^p, t), averaged over the background."""
    operations = game.evaluations * _N_ROWS * len(parts) * float(game.gp.n_observed) ** 2
    slow = "shapiq" not in sys.modules or operations > _SLOW_OPERATIONS
    with progress_bar("loading shapiq", 1 + _N_STEPS * len(parts), show=progress and slow) as bar:
        shapley.load_exact_computer()
        bar.advance("coalitions")
        values = []
        for part in parts:
            for rows in np.split(rows_of(part, game.space, 0, _N_ROWS, 0), _N_STEPS):
                values.append(game.coalition_values(rows))
                bar.advance()
    return np.asarray(np.mean(values, axis=0))


@contextmanager
def _opened(study: Study, objective: str | int | None) -> Iterator[tuple[Beliefs, Target | None]]:
    """The beliefs for one public call; without an objective, no target: the acquisition is explained."""
    beliefs = beliefs_of(study)
    with one_thread:
        yield beliefs, None if objective is None else beliefs.view.target(objective)


# ---------------------------------------------------------------------- arguments


def _check(background: object, baseline: object, level: float) -> None:
    if not 0.0 < level <= _LARGEST_LEVEL:
        raise ValueError(printable(f"`level` must be between 0 and {_LARGEST_LEVEL}, but got {level}."))
    if background not in get_args(Background):
        raise ValueError(
            printable(f"`background` is one of {', '.join(get_args(Background))}, but got {background!r}.")
        )
    named = isinstance(baseline, str) and baseline == "incumbent"
    if not (baseline is None or is_whole_number(baseline) or named or isinstance(baseline, Mapping)):
        raise ValueError(
            f"`baseline` is None, a trial number, 'incumbent' or a dictionary of parameters, but got {baseline!r}."
        )


def _numbers(trials: Iterable[int]) -> list[int]:
    """Each once, in order."""
    listed = None if isinstance(trials, (str, Mapping)) or not isinstance(trials, Iterable) else list(trials)
    if listed is None or not all(map(is_whole_number, listed)):
        raise ValueError(f"`trials` is a list of trial numbers, but got {trials!r}.")
    return sorted({int(n) for n in listed})


def _default_trials(view: StudyView) -> list[int]:
    """Trials that a model of pellucid proposed, or whose receipt cannot be read; without any, those that finished."""
    finished = (TrialState.COMPLETE, TrialState.PRUNED)
    proposed = sorted({*view.proposed, *view.unreadable})
    return proposed or [trial.number for trial in view.trials if trial.state in finished]


# ---------------------------------------------------------------------- explanations


def explanation_of(
    beliefs: Beliefs,
    number: int,
    background: Background = "global",
    baseline: Baseline = None,
    level: float = LEVEL,
    *,
    target: Target | None = None,
) -> ProposalExplanation:
    """`target`: what was predicted for it, in place of the acquisition."""
    view = beliefs.view
    case = _case(view, number) if target is None else case_of(view, number, target)
    if baseline is None:
        compared = _COMPARED[background]
        shares = case.against_background(parts_of(background, case.space, case.x, case.players), level)
    else:
        z, compared = _baseline(case, view, baseline)
        shares = case.against_row(z, level)
    contributions, relevance = _contributions(case, shares), case.relevance()
    total = float(shares.payouts[-1])
    everywhere = baseline is None and background == "global"
    only = case.expected[0] if len(case.expected) == 1 else None
    sign = _sign(case, target)
    said = _said(case, contributions, shares, relevance, compared, everywhere, target)
    return ProposalExplanation(
        trial=case.trial,
        acquisition=case.acquisition,
        contributions=tuple(c.times(sign) for c in contributions),
        terms=case.terms,
        weights=case.weights,
        payouts=_by_term(case, sign * shares.payouts),
        total=sign * total,
        unit=shares.unit,
        transformed=shares.transformed,
        exact=shares.exact,
        n_samples=shares.n_samples,
        level=level,
        background=background if baseline is None else "baseline",
        compared_with=compared,
        proposed=case.proposed,
        direction=None if only is None else only.direction,
        mean=None if only is None else only.mean,
        sd=None if only is None else only.sd,
        n_trials=case.n_trials,
        objective=case.objective,
        expected=case.expected,
        sentence=said.sentence,
        reasons=said.reasons,
        against=said.against,
        notes=(
            *case.notes,
            *unsettled(contributions),
            *doubted(contributions, case.terms, relevance),
            *contradictions(contributions, case.terms, relevance, everywhere=everywhere, rounding=shares.rounding),
        ),
    )


def _sign(case: Case, target: Target | None) -> float:
    """From what is attractive to the numbers of a record: more, of a prediction."""
    return -1.0 if target is not None and target.direction == "minimize" else 1.0


def _said(
    case: Case,
    contributions: tuple[Contribution, ...],
    shares: Shares,
    relevance: Mapping[str, Relevance],
    compared_with: str,
    everywhere: bool,
    target: Target | None,
) -> Said:
    total, rounding = float(shares.payouts[-1]), shares.rounding
    if target is not None:
        (expected,) = case.expected
        return prediction_sentence(case.trial, contributions, total, expected, case.proposed, compared_with, rounding)
    return proposal_sentence(
        trial=case.trial,
        contributions=contributions,
        total=total,
        proposed=case.proposed,
        terms=case.terms,
        compared_with=compared_with,
        whole_space=everywhere,
        rounding=rounding,
        relevance=relevance,
    )


def _case(view: StudyView, number: int) -> Case:
    """The trial, explained by the ranking that proposed it, or else by a Gaussian process."""
    trial = checked_trial(view, number)
    receipt = view.receipt(trial.number)
    if isinstance(receipt, RankingReceipt):
        return ranked_case(view, trial, receipt)
    return case_of(view, number)


def _contributions(case: Case, shares: Shares) -> tuple[Contribution, ...]:
    names = [case.space.names[j] for j in case.players]
    return tuple(
        Contribution(
            name=name,
            value=case.params.get(name),
            total=float(values[-1]),
            low=float(interval[-1, 0]),
            high=float(interval[-1, 1]),
            terms=_by_term(case, values),
            term_low=_by_term(case, interval[:, 0]),
            term_high=_by_term(case, interval[:, 1]),
        )
        for name, values, interval in zip(names, shares.values, shares.intervals, strict=True)
    )


def _by_term(case: Case, outputs: Array) -> dict[str, float]:
    """The terms among the outputs, without their sum."""
    return {name: float(value) for name, value in zip(case.terms, outputs[:-1], strict=True)}


def _baseline(case: Case, view: StudyView, baseline: int | str | Mapping[str, Any]) -> tuple[Array, str]:
    """The encoded baseline (d,), and what it is in words."""
    space = case.space
    if isinstance(baseline, Mapping):
        configuration, words = dict(baseline), "the given baseline"
        params = {name for trial in view.trials for name in trial.distributions}
        unknown = [name for name in configuration if name not in params]
        if unknown:
            raise ValueError(
                printable(
                    f"`baseline` names {', '.join(f'`{name}`' for name in unknown)}, but the study has "
                    f"{', '.join(f'`{name}`' for name in sorted(params))}."
                )
            )
    else:
        number = case.incumbent if isinstance(baseline, str) else int(baseline)
        if number is None:
            raise NoAnswer(
                "With several objectives there is no single incumbent to compare with: pass the number of a trial as "
                "`baseline`, or one of the objectives as `objective`."
            )
        if number not in view.by_number:
            raise ValueError(
                printable(f"`baseline` is trial {number}, but the study's trials are 0 to {max(view.by_number)}.")
            )
        configuration, words = view.by_number[number].params, f"trial {number}"
    known = {name: value for name, value in configuration.items() if name in space.index}
    X, fits = space.encode([known])
    if not fits[0]:
        raise NoAnswer(f"`baseline` lies outside the ranges that the model of trial {case.trial} knows: {known!r}.")
    z = space.canonical(X)[0]
    active = space.active(z[None])[0]
    missing = [space.names[j] for j in case.players if active[j] and space.names[j] not in known]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise NoAnswer(f"A baseline needs every parameter of the proposal that it switches on; {words} lacks {listed}.")
    return z, words
