"""A sampler that learns from earlier studies: their ranking proposes, and this study's trials correct it.

There are two rankings, as it was learned and tuned to this study: the first keeps looking where earlier studies were
good, the second where this one is. After the first trials the fallback, a model of this study alone, shares the turns:
whoever improves goes on (`search/turns.py`). It makes all proposals in the end, or from the start if earlier studies
are misleading. Like all samplers here it is stateless: trials, receipts, seed and model determine a proposal.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import Array, is_whole_number, one_thread, stream
from pellucid.provenance import RankingReceipt, RankingState, StartupReceipt
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.interface import ModelSampler, seed_or_random
from pellucid.search import others
from pellucid.search.acquisition.base import PointwiseAcquisition, Situation
from pellucid.search.acquisition.bounds import LCB
from pellucid.search.acquisition.improvement import EI
from pellucid.search.acquisition.optimize import SEPARATION, Known, candidates, unseen
from pellucid.search.configuration import best_value, rounded, shared_fields
from pellucid.search.notices import DeadTrialNotices
from pellucid.search.proposals import failure
from pellucid.search.publishing import Proposal, SeenSpace, publish
from pellucid.search.turns import Ranks, Turn, turn_of
from pellucid.space.encoding import Dimension, Space, is_ordered
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.receipts import readable_receipt
from pellucid.study.storage import keep_model
from pellucid.study.targets import single_objective
from pellucid.study.trials import distributions
from pellucid.study.view import StudyView
from pellucid.threads import no_fork
from pellucid.words import printable, printable_error

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from pellucid.models.ranking.ranker import FittedStudyRanker, Ranker, StudyRanker

RankAcquisition = Literal["mean", "ucb", "ei"]
RankReference = Literal["incumbent", "last"]
_logger = logging.getLogger("pellucid")

# Trials with a value after which the fallback makes all proposals, by default; lab/results/ranking compares it with
# None.
HAND_OVER = 50
# Trials with a value from which a Gaussian process can learn anything at all.
_FEWEST_TO_MODEL = 2
# Candidates everywhere and around the incumbents in the first round, and in the later ones, which only look around the
# best candidates so far.
_FIRST_ROUND, _NEXT_ROUNDS, _ROUNDS = (2048, 512), (0, 512), 3
# Observed configurations and candidates around which they are drawn.
_N_INCUMBENTS, _N_TOP = 5, 8
# How much a proposal must differ from all known ones in some coordinate. The transferred
# ranking does not change with what is found, so without a distance its best place would be proposed again and again.
_APART: dict[Ranks, float] = {"transferred": 0.1, "tuned": 0.02, "alone": 0.02}
# The share of the space that known configurations may rule out by that distance.
_MOST_TAKEN = 0.25
# Standard deviations of ranks are at least this: members that agree exactly would otherwise divide by zero.
_SMALLEST_SD = 1e-6
# Studies that a message names.
_MOST_NAMED = 5
_NEEDS = "RankingSampler needs torch and safetensors: `pip install 'pellucid[ranking]'`."


class RankingSampler(BaseSampler):
    """Proposals from a deep ranking surrogate that was meta-trained on earlier studies, or learns from this one alone.

    Args:
        model: the path of a file that `pellucid meta-train` or `save` wrote, or a `Ranker`; None trains an ensemble on
            the trials of this study alone.
        acquisition: "mean" takes the configuration with the best mean rank, "ucb" one standard deviation of the members
            beyond it, "ei" the largest expected improvement in rank on the `reference`.
        reference: for "ei": the "incumbent", or the "last" trial as in the code of the source.
        fallback: shares the turns with the ranking from the sixth trial on, and makes all proposals after `hand_over`
            trials, if the model does not apply to the study, or if it is misleading.
        hand_over: trials with a value after which the fallback makes all proposals. None: the ranking makes all of
            them, as learned and tuned by turns.
        seed: same seed, same trials, same proposals. None picks one at random.
        warn_independent_sampling: log when the model does not apply to the study; see also `BayesianSampler`.
    """

    def __init__(
        self,
        *,
        model: str | os.PathLike[str] | Ranker | None = None,
        acquisition: RankAcquisition = "mean",
        reference: RankReference = "incumbent",
        fallback: BayesianSampler | None = None,
        hand_over: int | None = HAND_OVER,
        seed: int | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        if acquisition not in get_args(RankAcquisition):
            raise ValueError(f"`acquisition` is 'mean', 'ucb' or 'ei', but got {acquisition!r}.")
        if reference not in get_args(RankReference):
            raise ValueError(f"`reference` is 'incumbent' or 'last', but got {reference!r}.")
        if fallback is not None and not isinstance(fallback, ModelSampler):
            raise TypeError(f"`fallback` must be a pellucid.BayesianSampler(...), but got {fallback!r}.")
        if hand_over is not None and not (is_whole_number(hand_over) and hand_over >= 1):
            raise ValueError(f"`hand_over` must be None or a whole number of at least 1, but got {hand_over!r}.")
        rankers = _rankers()
        if model is None or isinstance(model, rankers.Ranker):
            self._ranker: Ranker | None = model
        elif isinstance(model, (str, os.PathLike)):
            self._ranker = rankers.Ranker.from_file(model)
        else:
            raise TypeError(
                "`model` must be the path of a file that `pellucid meta-train` wrote, or a `Ranker`, but got "
                f"{model!r}. `RankingSampler.from_studies` learns one from studies."
            )
        self._seed = seed_or_random(seed)
        self._acquisition: RankAcquisition = acquisition
        self._reference: RankReference = reference
        if fallback is None:
            fallback = BayesianSampler(seed=self._seed, warn_independent_sampling=warn_independent_sampling)
        self._fallback: ModelSampler = fallback
        self._hand_over = hand_over
        self._warn = warn_independent_sampling
        self._warned: set[str] = set()
        self._notices = DeadTrialNotices()

    @staticmethod
    def from_studies(
        storage: str | BaseStorage,
        names: Sequence[str],
        *,
        acquisition: RankAcquisition = "mean",
        reference: RankReference = "incumbent",
        fallback: BayesianSampler | None = None,
        hand_over: int | None = HAND_OVER,
        seed: int | None = None,
        progress: bool = True,
    ) -> RankingSampler:
        """A sampler that has learned from these studies of a storage: at least three, of the same parameters, run by
        any sampler. Takes about a minute; `progress` shows a bar. `RankingSampler.save` keeps the result."""
        from optuna import get_all_study_names, load_study
        from optuna.storages import get_storage

        from pellucid.progress import progress_bar

        _rankers()
        from pellucid.models.ranking.ranker import Ranker
        from pellucid.study.earlier_studies import EarlierStudies, learn, steps_for

        if isinstance(names, str):
            raise ValueError(f"`names` must be a list of names of studies, but got the text {names!r}.")
        backend = get_storage(storage)
        known = get_all_study_names(backend)
        for name in names:
            if name not in known:
                listed = ", ".join(map(repr, get_close_matches(str(name), known) or known[:_MOST_NAMED])) or "none"
                raise ValueError(
                    printable(f"`names` must be names of studies in the storage, but got {name!r}; it has {listed}.")
                )
        # A study that is named twice counts once.
        past = EarlierStudies.of([load_study(study_name=name, storage=backend) for name in dict.fromkeys(names)])
        for name, reason in past.left_out.items():
            _logger.warning("`%s` is left out: %s.", printable(name), printable(reason))
        with progress_bar("learning from earlier studies", steps_for(past), show=progress) as bar:
            model = learn(past, seed=0 if seed is None else seed, progress=bar.reach)
        return RankingSampler(
            model=Ranker.of(model),
            acquisition=acquisition,
            reference=reference,
            fallback=fallback,
            hand_over=hand_over,
            seed=seed,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, for `RankingSampler(model=path)` in other studies."""
        if self._ranker is None:
            raise ValueError("This sampler has no meta-trained model, so there is nothing to save.")
        self._ranker.save(path)

    # ------------------------------------------------------------------ Optuna's interface

    def reseed_rng(self) -> None:
        """Every trial number has its own random stream, so only the fallback's independent sampler is reseeded."""
        self._fallback.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        view = self._view(study)
        self._notices.log(view)
        return SeenSpace(view)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        with one_thread:
            return publish(
                study, trial, search_space, self._view, lambda view: self._propose(view, trial, search_space)
            )

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The model's value for a parameter that no trial has had yet; at random if the model has none."""
        single_objective(study, type(self).__name__)
        receipt = readable_receipt(trial)
        if isinstance(receipt, RankingReceipt) and param_name in receipt.params:
            nearest = _nearest(param_name, param_distribution, receipt.params[param_name])
            if nearest is not None:
                return nearest[0]
        return self._fallback.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._fallback.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._fallback.after_trial(study, trial, state, values)

    def _view(self, study: Study) -> StudyView:
        return StudyView.unnamed(study, type(self).__name__)

    # ------------------------------------------------------------------ how a proposal is made

    def _propose(self, view: StudyView, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> Proposal:
        turn: Turn | None = None
        started = False
        try:
            serving = self._serving(view, search_space)
            if isinstance(serving, str):
                words = f"The fallback proposed it: {serving}." if serving else ""
            else:
                turn = self._turn(view, trial, serving)
                if turn.proposer != "model":
                    return self._ranked(view, trial, search_space, serving, turn.proposer, turn.words)
                # The ranking's proposals may all be in one branch of a conditional space, and a model that has seen no
                # other stays there: it makes its own start before its first proposals.
                words, started = turn.words, not serving.space.conditions
        except Exception as error:  # A running study gets its next trial even if the model fails.
            _logger.warning(
                "Trial %d: the ranking failed (%s).",
                trial.number,
                printable(str(error)),
                exc_info=printable_error(error),
            )
            turn, words = None, f"The fallback proposed it: {failure('the ranking', error)}."
        params, receipt = self._fallback.propose(view, trial, search_space, started=started)
        if turn is not None and isinstance(receipt, StartupReceipt):
            words = f"{words} It starts with trials that cover the space."
        return params, replace(receipt, phase=f"{words} {receipt.phase}".strip())

    def _turn(self, view: StudyView, trial: FrozenTrial, serving: StudyRanker) -> Turn:
        """Who proposes this trial, which a ranking could do: one of the rankings, or the fallback."""
        n = len(view.observations)
        rankings: tuple[Ranks, ...] = ("alone",)
        if self._ranker is not None:
            rankings = ("tuned", "transferred") if n and serving.epochs(n) else ("transferred",)
        # The trials of the ranking are start enough for a Gaussian process; a search in steps needs its own.
        needed = _FEWEST_TO_MODEL if isinstance(self._fallback, BayesianSampler) else self._fallback.n_startup_trials
        if self._hand_over is None or n < needed:
            return Turn(rankings[trial.number % 2 - 1], "")
        return turn_of(view, trial.number, rankings)

    def _serving(self, view: StudyView, search_space: Mapping[str, BaseDistribution]) -> StudyRanker | str:
        """The model applied to this study, or in words why the fallback makes all proposals."""
        if self._hand_over is not None and len(view.observations) >= self._hand_over:
            return f"the ranking hands over after {self._hand_over} trials"
        if self._ranker is None:
            return self._alone(view, search_space)
        reason = self._mismatch(self._ranker, view, search_space)
        if reason:
            if self._warn:
                self._warn_once("The fallback proposes all trials, because %s.", reason)
            return reason
        serving = self._ranker.for_study(_known(view))
        data = encoded(serving.space, view.observations)
        contradiction = serving.contradiction(data.X, data.losses)
        if contradiction:
            return f"earlier studies mislead here, because {contradiction}"
        # Receipts that name the model do not prove that the study has it: trials may come from another study.
        self._warn_once(
            "The ranking model could not be stored with the study (%s); the study goes on.",
            keep_model(view.study, self._ranker.name, self._ranker.data),
        )
        return serving

    def _alone(self, view: StudyView, search_space: Mapping[str, BaseDistribution]) -> StudyRanker | str:
        """An ensemble that is trained on this study alone, or why there is none."""
        if not search_space:
            return ""
        if len(view.observations) < max(self._fallback.n_startup_trials, 2):
            return "too few trials have a value yet"
        serving: StudyRanker = _rankers().StudyRanker.untrained(view.arrays(search_space).space)
        return serving

    def _mismatch(self, ranker: Ranker, view: StudyView, search_space: Mapping[str, BaseDistribution]) -> str:
        """Why the model does not apply to this study; empty if it does."""
        known = _known(view)
        differences = ranker.differences(known, partial=not view.distributions)
        # Parameters of the model that a sampler around this one fixes, once there is a space to search.
        space = ranker.model.space
        always = [name for name in space.names if name in known and name not in space.conditions]
        fixed = [name for name in always if search_space and name not in search_space and not known[name].single()]
        differences += [f"`{name}` is fixed outside this sampler" for name in fixed]
        return f"the model does not apply to this study ({'; '.join(differences)})" if differences else ranker.doubt

    def _warn_once(self, words: str, reason: str) -> None:
        if reason and reason not in self._warned:
            self._warned.add(reason)
            _logger.warning(printable(words % reason))

    def _ranked(
        self,
        view: StudyView,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        serving: StudyRanker,
        ranks: Ranks,
        words: str,
    ) -> Proposal:
        data = encoded(serving.space, view.observations)
        epochs = 0 if ranks == "transferred" else serving.epochs(len(data.losses))
        ranked = serving.fit(data.X, data.losses, epochs, self._seed)
        x = self._best(ranked, data, others.known(data.space, view, trial.number), trial.number, _APART[ranks])
        configuration = rounded(data.space, x, stream(self._seed, "inactive", trial.number))
        rank, sd = ranked.scale(self._seed, trial.number)(configuration.x)
        state = RankingState(
            model="" if self._ranker is None else self._ranker.name,
            turn=ranks,
            epochs=epochs,
            acquisition=self._acquisition,
            reference=self._reference,
            rank=float(rank[0]),
            sd=float(sd[0]),
            candidates=_rankers().N_REFERENCE,
            studies=0 if self._ranker is None else self._ranker.studies,
        )
        fields = shared_fields(view, trial, self._seed, configuration, data)
        params = {name: value for name, value in configuration.params.items() if name in search_space}
        best, direction = best_value(view.objective, data), view.objective.direction
        return params, RankingReceipt(**fields, ranking=state, direction=direction, best_value=best, phase=words)

    def _best(self, ranked: FittedStudyRanker, data: Arrays, tried: Array, number: int, apart: float) -> Array:
        """The best new configuration of many everywhere, then of more and more around the best of these."""
        space = data.space
        rng = stream(self._seed, "ranking candidates", number)
        # In a space of one or two parameters this distance would rule out too much.
        apart = min(apart, 0.5 * (_MOST_TAKEN / max(len(tried), 1)) ** (1.0 / len(space)))
        known = Known(space, tried, SEPARATION)
        order = np.argsort(data.losses, kind="stable")
        reference = data.X[order[:1]] if self._reference == "incumbent" else data.X[-1:]
        X = candidates(space, data.X[order[:_N_INCUMBENTS]], rng, _FIRST_ROUND)
        for round_ in range(_ROUNDS):
            values = self._values(ranked, X, reference, space, len(data.losses))
            fresh = X[np.lexsort((ranked.distance_outside(X), -values))]
            # Distances as the study measures them and as the model does: otherwise a range that is much narrower or
            # wider than in earlier studies would be used up at once.
            near = known.exactly(fresh) if known.countable else _near(fresh, tried, ranked.in_model_encoding, apart)
            if round_ < _ROUNDS - 1:
                top = fresh if known.countable else fresh[~near]
                X = np.unique(np.vstack([X, candidates(space, top[:_N_TOP], rng, _NEXT_ROUNDS)]), axis=0)
        if not near.all():
            return np.asarray(fresh[~near][0])
        left = unseen(space, known, rng)
        X = left if len(left) else X
        return np.asarray(X[int(np.argmax(self._values(ranked, X, reference, space, len(data.losses))))])

    def _values(self, ranked: FittedStudyRanker, X: Array, reference: Array, space: Space, n: int) -> Array:
        reference = reference if self._acquisition == "ei" else reference[:0]
        mean, sd = ranked.predict(np.vstack([reference, X]))
        best = float(mean[0]) if len(reference) else 1.0
        mean, sd = mean[len(reference) :], sd[len(reference) :]
        kinds: dict[str, PointwiseAcquisition] = {"mean": LCB(0.0), "ucb": LCB(1.0), "ei": EI()}
        kind = kinds[self._acquisition]
        return kind.score(mean, np.maximum(sd, _SMALLEST_SD), Situation(best, n, len(space)))


def _known(view: StudyView) -> dict[str, BaseDistribution]:
    """The parameters of the study. Until a trial has finished, those that failed or running trials have asked for."""
    return view.distributions or distributions(view.trials, tuple(TrialState))


def _near(X: Array, tried: Array, placed: Callable[[Array], Array], apart: float) -> npt.NDArray[np.bool_]:
    """Which rows have a tried configuration within `apart` in every coordinate: as the study encodes them, and as
    `placed` in the space of the model."""
    near = np.ones((len(tried), len(X)), dtype=bool)
    moved = placed(X)
    for rows, tried_rows in ((X, tried), (moved, placed(tried)))[: 1 if moved is X else 2]:
        for a, b in zip(rows.T, tried_rows.T, strict=True):
            near &= np.abs(a - b[:, None]) <= apart
    return np.asarray(near.any(axis=0))


def _rankers() -> Any:
    try:
        with no_fork:
            from pellucid.models.ranking import ranker
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        raise ImportError(_NEEDS) from error
    return ranker


def _nearest(name: str, distribution: BaseDistribution, value: Any) -> tuple[Any] | None:
    """The value itself, or the nearest number of the distribution; None for a choice that it does not have."""
    dimension = Dimension(name, distribution, is_ordered(distribution))
    if isinstance(distribution, CategoricalDistribution):
        u, inside = dimension.encode([value])
        return (dimension.decode(u)[0],) if inside[0] else None
    if isinstance(value, (str, bool)) or value is None:
        return None
    if isinstance(distribution, FloatDistribution) and distribution.step is None:
        return (min(max(float(value), distribution.low), distribution.high),)  # Encoding would round the last digits.
    return (dimension.decode(np.clip(dimension.place(np.array([value], dtype=float)), 0.0, 1.0))[0],)
