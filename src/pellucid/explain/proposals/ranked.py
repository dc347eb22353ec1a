"""Why a ranking surrogate proposed a trial: its rank among configurations of the whole space, shared out by parameter.

The model comes from the study's storage and the observations from its trials, so the ranking is the one that chose.
Numbers are ranks: a contribution of 100 means that a parameter's value lifts the proposal by a hundred places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.acquisition.base import Situation
from pellucid.acquisition.improvement import EI
from pellucid.explain import shapley
from pellucid.explain.proposals.background import Background, parts_of, rows_of
from pellucid.explain.proposals.why import unsettled, verdict_of
from pellucid.numerics import Array, expand_integers
from pellucid.records import Contribution, ProposalExplanation, Receipt, RecordError, Term
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.encoding import Condition, Space

if TYPE_CHECKING:
    from pellucid.surrogates.ranking.ranker import FittedStudyRanker

_N_ROWS, _FEW_ROWS = 256, 64
_RANK = Term("predicted rank", "ranked high by the model", "prediction")
_WORDS = {
    "mean": {"rank": _RANK},
    "ucb": {"rank": _RANK, "uncertainty": Term("uncertainty", "little was known there", "uncertainty")},
    "ei": {
        "exploit": Term("exploit: predicted improvement in rank", "ranked high by the model", "prediction"),
        "explore": Term("explore: room for improvement in rank", "room for improvement", "room"),
    },
}
_NAMES = {"mean": "mean rank", "ucb": "upper bound of the rank", "ei": "expected improvement in rank"}


def explain_ranked(
    study: Study,
    receipt: Receipt,
    found: Mapping[int, FrozenTrial],
    background: Background,
    compared: str,
    baseline: tuple[Array, str] | None,
    level: float,
    notes: tuple[str, ...],
) -> ProposalExplanation:
    """`baseline`: one configuration, encoded, to compare with instead of the background, and what it is in words."""
    state = receipt.ranking
    assert state is not None
    space, data = space_and_data(receipt, found, study_io.sign(study))
    ranked = _refitted(study, receipt, space, data)
    scale = ranked.scale(receipt.seed, receipt.trial)
    x = space.canonical(space.encode([receipt.params])[0])[0]
    players = tuple(int(j) for j in np.flatnonzero(space.active(x[None])[0]))
    reference = _reference(scale, data, state.reference)
    terms = _WORDS[state.acquisition]
    names = tuple(terms)

    def outputs(X: Array) -> Array:
        """(n, t + 1): the terms of the acquisition in ranks, and their sum."""
        mean, sd = scale(space.canonical(X))
        if state.acquisition == "ei":
            improvement = EI().terms(mean, np.maximum(sd, 1e-6), Situation(reference, len(data.losses), len(space)))
            parts = [improvement[name] for name in names]
        else:
            parts = [-mean, sd][: len(names)]
        return np.stack([*parts, np.sum(parts, axis=0)], axis=1)

    if baseline is not None:
        Z, compared = baseline[0][None], baseline[1]
    else:
        rows = _N_ROWS if len(players) <= shapley.MOST_PLAYERS - 2 else _FEW_ROWS
        Z = np.vstack([rows_of(part, space, 0, rows, 0) for part in parts_of(background, space, x, players)])
    shares = shapley.shapley_values(outputs, x, Z, players=players, level=level)
    intervals = np.sort(shares.intervals, axis=-1)
    contributions = tuple(
        Contribution(
            name=space.names[j],
            value=receipt.params.get(space.names[j]),
            total=float(shares.values[i, -1]),
            low=float(intervals[i, -1, 0]),
            high=float(intervals[i, -1, 1]),
            terms={name: float(shares.values[i, k]) for k, name in enumerate(names)},
            term_low={name: float(intervals[i, k, 0]) for k, name in enumerate(names)},
            term_high={name: float(intervals[i, k, 1]) for k, name in enumerate(names)},
        )
        for i, j in enumerate(players)
    )
    payouts = np.atleast_1d(shares.payout)
    mean, sd = scale(x[None])
    direction = "maximize" if study_io.sign(study) < 0 else "minimize"
    return ProposalExplanation(
        trial=receipt.trial,
        acquisition=_NAMES[state.acquisition],
        contributions=contributions,
        terms=terms,
        weights=dict.fromkeys(names, 1.0),
        payouts={name: float(payouts[k]) for k, name in enumerate(names)},
        total=float(payouts[-1]),
        unit=f"places of {state.candidates}",
        transformed=False,
        exact=names if shares.method == "baseline" else (),
        n_samples=0 if shares.method == "baseline" else len(Z),
        level=level,
        background="baseline" if baseline is not None else background,
        compared_with=compared,
        proposed=True,
        direction=direction,
        mean=float(mean[0]),
        sd=float(sd[0]),
        n_trials=len(data.losses),
        sentence=verdict_of(
            trial=receipt.trial,
            contributions=contributions,
            total=float(payouts[-1]),
            proposed=True,
            terms=terms,
            compared_with=compared,
            whole_space=baseline is None and background == "global",
            rounding=1e-9 * state.candidates,
        ),
        notes=(str(receipt), *notes, *unsettled(contributions)),
    )


def space_and_data(receipt: Receipt, found: Mapping[int, FrozenTrial], loss_sign: float) -> tuple[Space, Arrays]:
    """The space and the observations that a receipt of kind 'ranking' names."""
    numbers = expand_integers(receipt.fitted_on)
    sources = [number for number in receipt.space.values() if isinstance(number, int)]
    missing = sorted({*sources, *numbers} - set(found))
    if missing:
        raise ValueError(f"Trial {receipt.trial} cannot be rebuilt: the storage no longer has trials {missing}.")
    space = Space.of(
        {name: study_io.distribution_of(found, name, where) for name, where in receipt.space.items()},
        {child: Condition.from_list(rule) for child, rule in receipt.conditions.items()},
        receipt.ordinal,
    )
    data = encoded(space, study_io.observations([found[i] for i in numbers], loss_sign))
    if len(space) == 0 or not space.encode([receipt.params])[1][0]:
        raise RecordError(f"The receipt of trial {receipt.trial} is damaged: its parameters are outside their ranges.")
    return space, data


def _refitted(study: Study, receipt: Receipt, space: Space, data: Arrays) -> FittedStudyRanker:
    state = receipt.ranking
    assert state is not None
    try:
        from pellucid.surrogates.ranking.ranker import Ranker, StudyRanker
        from pellucid.surrogates.ranking.translation import Translation
    except ModuleNotFoundError as error:
        raise ValueError(
            f"Trial {receipt.trial} was proposed by a ranking surrogate; to explain it needs torch and safetensors: "
            "`pip install 'pellucid[ranking]'`."
        ) from error
    if state.turn == "alone":
        return StudyRanker.untrained(space).fit(data.X, data.losses, state.epochs, receipt.seed)
    ranker = Ranker.from_data(study_io.kept_model(study, state.model), f"The model `{state.model}` of the study")
    return StudyRanker(ranker.model, Translation(space, ranker.model.space)).fit(
        data.X, data.losses, state.epochs, receipt.seed
    )


def _reference(scale: Any, data: Arrays, kind: str) -> float:
    """The rank that EI improves on."""
    if len(data.losses) == 0:
        return 1.0
    row = data.X[int(np.argmin(data.losses))] if kind == "incumbent" else data.X[-1]
    return float(scale(row[None])[0][0])
