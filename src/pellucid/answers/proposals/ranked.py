"""Why a ranking surrogate proposed a trial: its rank among configurations of the whole space.

The model comes from the study's storage and the observations from its trials, so this is the ranking that chose it.
Numbers are ranks: a contribution of 100 means that a parameter's value lifts the proposal by a hundred places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.answers import shapley
from pellucid.answers.proposals.background import Part, rows_of
from pellucid.answers.proposals.cases import Case, Shares, changes, outcome
from pellucid.answers.proposals.records import ExpectedValue
from pellucid.numerics import Array, expand_integers
from pellucid.provenance import RankingReceipt, RankingState, Term
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.improvement import EI
from pellucid.search.rebuild import require_own, space_and_data
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, Note, UnreadableRecordError

if TYPE_CHECKING:
    from pellucid.models.ranking.ranker import FittedStudyRanker

# Background rows, and the fewer for more parameters than this, whose coalitions would take too long otherwise.
_N_ROWS, _FEW_ROWS, _MANY_PLAYERS = 256, 64, shapley.MOST_PLAYERS - 2
# Smaller contributions, as a share of the candidates that are ranked, are rounding errors.
_ROUNDING = 1e-9
# Standard deviations of ranks are at least this, as when the trial was proposed.
_SMALLEST_SD = 1e-6
_RANK = Term("predicted rank", "ranked high by the model", "prediction")
_TERMS = {
    "mean": {"rank": _RANK},
    "ucb": {"rank": _RANK, "uncertainty": Term("uncertainty", "little was known there", "uncertainty")},
    "ei": {
        "exploit": Term("exploit: predicted improvement in rank", "ranked high by the model", "prediction"),
        "explore": Term("explore: room for improvement in rank", "room for improvement", "room"),
    },
}
_NAMES = {"mean": "mean rank", "ucb": "upper bound of the rank", "ei": "expected improvement in rank"}


@dataclass(frozen=True, kw_only=True)
class RankedCase(Case):
    """A proposal explained by the ranking that chose it.

    scale       encoded rows -> mean and sd of their ranks
    reference   the rank that EI improves on
    """

    state: RankingState
    scale: Any
    reference: float

    def against_background(self, parts: Sequence[Part], level: float) -> Shares:
        count = _N_ROWS if len(self.players) <= _MANY_PLAYERS else _FEW_ROWS
        return self._against(np.vstack([rows_of(part, self.space, 0, count, 0) for part in parts]), level)

    def against_row(self, z: Array, level: float) -> Shares:
        return self._against(z[None], level)

    def _against(self, Z: Array, level: float) -> Shares:
        attribution = shapley.shapley_values(self._outputs, self.x, Z, players=self.players, level=level)
        return Shares(
            values=attribution.values,
            intervals=np.sort(attribution.intervals, axis=-1),
            payouts=np.atleast_1d(attribution.payout),
            exact=(),
            n_samples=len(Z),
            unit=f"places of {self.state.candidates}",
            transformed=False,
            rounding=_ROUNDING * self.state.candidates,
        )

    def _outputs(self, X: Array) -> Array:
        """(n, t + 1): the terms of the acquisition in ranks, and their sum."""
        mean, sd = self.scale(self.space.canonical(X))
        if self.state.acquisition == "ei":
            situation = Situation(self.reference, self.n_trials, len(self.space))
            terms = EI().terms(mean, np.maximum(sd, _SMALLEST_SD), situation)
            parts = [terms[name] for name in self.terms]
        else:
            parts = [-mean, sd][: len(self.terms)]
        return np.stack([*parts, np.sum(parts, axis=0)], axis=1)


def ranked_case(view: StudyView, trial: FrozenTrial, receipt: RankingReceipt) -> RankedCase:
    state = receipt.ranking
    require_own(receipt, trial)
    space, data = space_and_data(receipt, view, expand_integers(receipt.fitted_on))
    X, fits = space.encode([receipt.params])
    if len(space) == 0 or not fits[0]:
        raise UnreadableRecordError(
            f"The receipt of trial {receipt.trial} is damaged: its parameters are outside their ranges."
        )
    x = space.canonical(X)[0]
    scale = _refitted(view, receipt, space, data).scale(receipt.seed, receipt.trial)
    mean, sd = scale(x[None])
    numbers, losses, objective = data.observations.numbers, data.losses, view.objectives[0]
    return RankedCase(
        trial=trial.number,
        space=space,
        x=x,
        players=tuple(map(int, np.flatnonzero(space.active(x[None])[0]))),
        params=receipt.params,
        acquisition=_NAMES[state.acquisition],
        terms=_TERMS[state.acquisition],
        weights=dict.fromkeys(_TERMS[state.acquisition], 1.0),
        objective=objective.name,
        expected=(ExpectedValue(objective.name, objective.direction, float(mean[0]), float(sd[0])),),
        incumbent=numbers[int(np.argmin(losses))] if len(losses) else trial.number,
        proposed=True,
        n_trials=len(losses),
        notes=(Note(str(receipt), "receipt"), *outcome(trial), *changes(trial, receipt)),
        state=state,
        scale=scale,
        reference=_reference(scale, data, state.reference),
    )


def _refitted(view: StudyView, receipt: RankingReceipt, space: Space, data: Arrays) -> FittedStudyRanker:
    """The ranking as it was when it proposed the trial."""
    state = receipt.ranking
    try:
        from pellucid.models.ranking.files import ModelFileError
        from pellucid.models.ranking.ranker import Ranker, StudyRanker
        from pellucid.models.ranking.translation import Translation
    except ModuleNotFoundError as error:
        raise NoAnswer(
            f"Trial {receipt.trial} was proposed by a ranking surrogate; explaining it needs torch and safetensors: "
            "`pip install 'pellucid[ranking]'`."
        ) from error
    if state.turn == "alone":
        ranker = StudyRanker.untrained(space)
    else:
        try:
            kept = Ranker.from_data(view.kept_model(state.model), f"The model `{state.model}` of the study")
        except ModelFileError as error:
            raise NoAnswer(str(error)) from error
        ranker = StudyRanker(kept.model, Translation(space, kept.model.space))
    return ranker.fit(data.X, data.losses, state.epochs, receipt.seed)


def _reference(scale: Any, data: Arrays, kind: str) -> float:
    """The rank that EI improves on."""
    if len(data.losses) == 0:
        return 1.0
    row = data.X[int(np.argmin(data.losses))] if kind == "incumbent" else data.X[-1]
    return float(scale(row[None])[0][0])
