"""Why this trial: Shapley explanations of proposals, from the storage alone.

A proposal of pellucid is explained by the model and the acquisition that chose it, rebuilt from its receipt. A trial of
another sampler is explained by what pellucid's model would have said, given the trials that had finished before.

Inside, numbers are latent and encoded; what leaves is in the user's units, and positive is attractive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, get_args

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.units import LatentScale, Unit
from pellucid.explain import shapley
from pellucid.explain.model import opened
from pellucid.explain.progress import tracked
from pellucid.explain.proposals.background import NEIGHBOURHOOD, Background, Part, parts_of, rows_of
from pellucid.explain.proposals.cases import Case, case_of, changes, fate
from pellucid.explain.proposals.games import MOST_ENUMERATED, Game, estimated
from pellucid.explain.proposals.ranked import explain_ranked, space_and_data
from pellucid.explain.proposals.shapley_mean import mean_shapley
from pellucid.explain.proposals.why import path_verdict, unsettled, verdict_of
from pellucid.explain.rebuild import require_own
from pellucid.numerics import Array, is_whole_number, one_thread
from pellucid.records import (
    OBJECTIVE,
    Attribution,
    Contribution,
    DesirabilityPaths,
    ProposalExplanation,
    RecordError,
)
from pellucid.study import study_io
from pellucid.study.encoding import Space
from pellucid.study.view import StudyView

LEVEL = 0.95
_LARGEST_LEVEL = 0.9999
_ROUNDING = 1e-9
_N_ROWS = 512


def explain_proposal(
    study: Study,
    trial: int,
    *,
    background: Background = "global",
    baseline: int | str | Mapping[str, Any] | None = None,
    level: float = LEVEL,
) -> ProposalExplanation:
    """Which parameters made a proposal attractive, and whether by what was predicted or by what was unknown.

    Args:
        study: any study with one objective.
        trial: number of the trial. One that pellucid did not propose is explained by what its model would have said.
        background: what the proposal is compared with: the average over the space ("global"), over its neighbourhood
            ("local", within a tenth of every range), or over both ("hybrid").
        baseline: compare with one configuration instead of a background: a trial number, "incumbent" (the trial of
            which the model expected most), or a dictionary of parameters.
        level: of the intervals where something had to be sampled.
    """
    _check(background, baseline, level)
    with opened(study, "explain_proposal") as view:
        return explanation_of(view, trial, background, baseline, level)


def desirability_paths(
    study: Study,
    trials: Iterable[int] | None = None,
    *,
    background: Background = "global",
    baseline: int | str | Mapping[str, Any] | None = None,
    level: float = LEVEL,
    progress: bool = True,
) -> DesirabilityPaths:
    """`explain_proposal` over a run: how contributions of parameters and terms changed from proposal to proposal.

    Args:
        trials: numbers of trials; default all that a model of pellucid proposed, or, where there are none, all trials
            that finished.
        progress: show a progress bar on a terminal.
        study, background, baseline, level: as for `explain_proposal`.
    """
    _check(background, baseline, level)
    view = StudyView.of(study, "desirability_paths")
    if not view.trials:
        raise ValueError("The study has no trials yet, so there is nothing to explain.")
    numbers = _wanted(view.by_number) if trials is None else _numbers(trials)

    def attempted(number: int) -> ProposalExplanation | str:
        """The explanation, or why there is none."""
        try:
            return explanation_of(view, number, background, baseline, level)
        except (ValueError, RecordError) as error:
            return str(error)

    with one_thread:
        outcomes = {number: attempted(number) for number in tracked(numbers, "proposals", wanted=progress)}
    explanations = [one for one in outcomes.values() if isinstance(one, ProposalExplanation)]
    skipped = {number: why for number, why in outcomes.items() if isinstance(why, str)}
    if not explanations:
        first = f" The first: {next(iter(skipped.values()))}" if skipped else ""
        raise ValueError(f"None of the {len(numbers)} trials asked for has a proposal that can be explained.{first}")
    notes = [f"{len(skipped)} of {len(numbers)} trials could not be explained."] if skipped else []
    return DesirabilityPaths(tuple(explanations), skipped, path_verdict(explanations), tuple(notes))


def proposal_interactions(
    study: Study, trial: int, *, background: Background = "global"
) -> dict[tuple[str, ...], float]:
    """How parameters worked together in a proposal: (name,) -> what it contributed alone, (name, other) -> what the two
    contributed together beyond that, in the unit of `explain_proposal`; all of them sum to the payout.

    Order-two Shapley interactions (k-SII) of the acquisition; for proposals of two to ten parameters. Needs
    `pip install 'pellucid[interactions]'`.
    """
    _check(background, None, LEVEL)
    with opened(study, "proposal_interactions") as view:
        case = case_of(view, trial)
        game = case.game
        if not 2 <= len(game.players) <= MOST_ENUMERATED:
            raise ValueError(
                f"Interactions are for proposals of 2 to {MOST_ENUMERATED} parameters, but trial {trial} has "
                f"{len(game.players)}."
            )
        parts = parts_of(background, game.space, game.x, game.players)
        v = np.mean([game.coalition_values(rows_of(part, game.space, 0, _N_ROWS, 0)) for part in parts], axis=0)
        _, scale = _unit(case, _average_latent(game, parts))
    names = [game.space.names[j] for j in game.players]
    found = shapley.interactions(scale * (v @ game.weights))
    return {tuple(names[i] for i in who): value for who, value in found.items()}


def _check(background: object, baseline: object, level: float) -> None:
    if not 0.0 < level <= _LARGEST_LEVEL:
        raise ValueError(f"`level` must be between 0 and {_LARGEST_LEVEL}, but got {level}.")
    if background not in get_args(Background):
        raise ValueError(f"`background` is one of {', '.join(get_args(Background))}, but got {background!r}.")
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


def _wanted(found: Mapping[int, FrozenTrial]) -> list[int]:
    """Trials that a model of pellucid proposed (or whose receipt is damaged); without any, those that finished."""
    ours = [number for number, trial in found.items() if _was_proposed(trial)]
    ended = (TrialState.COMPLETE, TrialState.PRUNED)
    return sorted(ours) or [number for number, trial in sorted(found.items()) if trial.state in ended]


def _was_proposed(trial: FrozenTrial) -> bool:
    try:
        receipt = study_io.read_receipt(trial)
    except RecordError:
        return True
    return receipt is not None and receipt.kind in ("model", "ranking")


# ---------------------------------------------------------------------- explaining it


def explanation_of(
    view: StudyView,
    number: int,
    background: Background = "global",
    baseline: int | str | Mapping[str, Any] | None = None,
    level: float = LEVEL,
) -> ProposalExplanation:
    """By the ranking that proposed the trial, or else by a Gaussian process."""
    found = view.by_number
    receipt = view.receipt(number) if is_whole_number(number) and number in found else None
    if receipt is None or receipt.kind != "ranking":
        return _explained(case_of(view, number), view.objective.name, found, background, baseline, level)
    require_own(receipt, number)
    space, data = space_and_data(receipt, found, view.sign)
    x = space.canonical(space.encode([receipt.params])[0])[0]
    players = [space.names[j] for j in np.flatnonzero(space.active(x[None])[0])]
    numbers, losses = data.observations.numbers, data.losses
    incumbent = numbers[int(np.argmin(losses))] if len(losses) else number
    compared_with = None if baseline is None else _baseline(space, players, number, incumbent, found, baseline)
    notes = (*fate(found[number]), *changes(found[number], receipt))
    words = _COMPARED[background]
    return explain_ranked(view.study, receipt, found, background, words, compared_with, level, notes)


def _explained(
    case: Case,
    objective: str,
    found: Mapping[int, FrozenTrial],
    background: Background,
    baseline: int | str | Mapping[str, Any] | None,
    level: float,
) -> ProposalExplanation:
    game = case.game
    if baseline is None:
        parts = parts_of(background, game.space, game.x, game.players)
        shares, exact = _against(game, parts, level)
        average, compared = _average_latent(game, parts), _COMPARED[background]
    else:
        players = [game.space.names[j] for j in game.players]
        z, compared = _baseline(game.space, players, case.trial, case.incumbent, found, baseline)
        shares = shapley.shapley_values(game.outputs, game.x, z[None], "baseline", players=game.players, level=level)
        exact = game.names if shares.method == "baseline" else ()
        average = float(game.gp.latent(z[None])[0][0])
    unit, scale = _unit(case, average)
    scaled = scale * np.append(game.weights, 1.0)
    values, payouts = shares.values * scaled, np.atleast_1d(shares.payout) * scaled
    intervals = np.sort(shares.intervals * scaled[:, None], axis=-1)
    contributions = _contributions(game, values, intervals)
    mean, sd = game.gp.predict(game.x[None])
    direction = "maximize" if case.loss_sign < 0 else "minimize"
    subject = case.acquisition.learns_about(game.space)
    terms = {
        name: term.filled(objective=objective, direction=direction, subject=subject)
        for name, term in case.acquisition.words().items()
    }
    total = float(payouts[-1])
    return ProposalExplanation(
        trial=case.trial,
        acquisition=case.acquisition.name,
        contributions=contributions,
        terms=terms,
        weights=game.function.weights(),
        payouts=_by_name(game, payouts),
        total=total,
        unit=unit,
        transformed=game.gp.hyperparameters.warp is not None and unit == OBJECTIVE,
        exact=exact,
        n_samples=0 if set(exact) == set(game.names) else shares.n_samples,
        level=level,
        background=background if baseline is None else "baseline",
        compared_with=compared,
        proposed=case.proposed,
        direction=direction,
        mean=case.loss_sign * float(mean[0]),
        sd=float(sd[0]),
        n_trials=case.n_seen,
        sentence=verdict_of(
            trial=case.trial,
            contributions=contributions,
            total=total,
            proposed=case.proposed,
            terms=terms,
            compared_with=compared,
            whole_space=baseline is None and background == "global",
            rounding=_ROUNDING * (abs(total) + scale * float(np.atleast_1d(np.abs(shares.average))[-1])),
        ),
        notes=(*case.notes, *unsettled(contributions)),
    )


def _contributions(game: Game, values: Array, intervals: Array) -> tuple[Contribution, ...]:
    params = game.space.decode(game.x[None])[0]
    names = [game.space.names[j] for j in game.players]
    return tuple(
        Contribution(
            name=name,
            value=_shown(params[name]),
            total=float(values[i, -1]),
            low=float(intervals[i, -1, 0]),
            high=float(intervals[i, -1, 1]),
            terms=_by_name(game, values[i]),
            term_low=_by_name(game, intervals[i, :, 0]),
            term_high=_by_name(game, intervals[i, :, 1]),
        )
        for i, name in enumerate(names)
    )


def _shown(value: Any) -> Any:
    """A value as JSON can carry it."""
    plain = study_io.plain(value)
    return str(plain) if isinstance(plain, float) and not isfinite(plain) else plain


def _by_name(game: Game, outputs: Array) -> dict[str, float]:
    """The terms among the outputs."""
    return {name: float(value) for name, value in zip(game.names, outputs[:-1], strict=True)}


_COMPARED: dict[str, str] = {
    "global": "the average configuration of the space",
    "local": f"the average configuration within {100 * NEIGHBOURHOOD:g}% of every range",
    "hybrid": "the average of the space and of the neighbourhood",
}


def _against(game: Game, parts: Sequence[Part], level: float) -> tuple[Attribution, tuple[str, ...]]:
    """Shapley values, and the terms for which they are exact."""
    mean = game.function.mean_term
    if mean is None or game.gp.kernel.radial:
        return estimated(game, parts, level, {}), ()
    means = [mean_shapley(game.gp, game.x, game.space, game.players, part) for part in parts]
    values, average = -np.mean([one.values for one in means], axis=0), -float(np.mean([one.average for one in means]))
    return estimated(game, parts, level, {game.names.index(mean): (values, average)}), (mean,)


def _average_latent(game: Game, parts: Sequence[Part]) -> float:
    """Average of the latent mean over a background."""
    if not game.gp.kernel.radial:
        return float(np.mean([mean_shapley(game.gp, game.x, game.space, (), part).average for part in parts]))
    rows = [game.space.canonical(rows_of(part, game.space, 0, _N_ROWS, 0)) for part in parts]
    return float(np.mean([game.gp.latent_mean(X).mean() for X in rows]))


def _baseline(
    space: Space,
    players: Sequence[str],
    trial: int,
    incumbent: int,
    found: Mapping[int, FrozenTrial],
    wanted: int | str | Mapping[str, Any],
) -> tuple[Array, str]:
    """The encoded baseline (d,), and what it is in words."""
    if isinstance(wanted, Mapping):
        configuration, words = dict(wanted), "the given baseline"
        somewhere = {name for trial in found.values() for name in trial.distributions}
        unknown = [name for name in configuration if name not in somewhere]
        if unknown:
            raise ValueError(
                f"`baseline` names {', '.join(f'`{name}`' for name in unknown)}, but the study has "
                f"{', '.join(f'`{name}`' for name in sorted(somewhere))}."
            )
    else:
        number = incumbent if isinstance(wanted, str) else int(wanted)
        if number not in found:
            raise ValueError(f"`baseline` is trial {number}, but the study's trials are 0 to {max(found)}.")
        configuration, words = found[number].params, f"trial {number}"
    known = {name: value for name, value in configuration.items() if name in space.index}
    X, fits = space.encode([known])
    if not fits[0]:
        raise ValueError(f"`baseline` lies outside the ranges that the model of trial {trial} knows: {known!r}.")
    z = space.canonical(X)[0]
    active = space.active(z[None])[0]
    missing = [name for name in players if active[space.index[name]] and name not in known]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise ValueError(
            f"A baseline needs every parameter of the proposal that it switches on; {words} lacks {listed}."
        )
    return z, words


def _unit(case: Case, background: float) -> Unit:
    """Unit of the contributions. `background`: average latent mean of what the proposal is compared with."""
    gp = case.game.gp
    proposal = float(gp.latent_mean(case.game.x[None])[0])
    return case.acquisition.unit(LatentScale(gp, case.best, proposal, background))
