"""A sampler that starts where earlier studies ended: their ranking proposes, this study's trials correct it.

Every other proposal follows the ranking as it was learned, the others the ranking tuned to this study: the first keeps
looking where earlier studies were good, the second where this one is. Later the fallback takes turns too, and then all
of them, as it does wherever earlier studies turn out to mislead. Like all samplers here it is stateless: trials, seed
and model make a proposal.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.acquisition.base import PointwiseAcquisition, Situation
from pellucid.acquisition.bounds import LCB
from pellucid.acquisition.improvement import EI
from pellucid.acquisition.optimize import SEPARATION, Known, candidates, unseen
from pellucid.numerics import Array, compress_integers, one_thread, stream
from pellucid.records import RankingState, Receipt, RecordError
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.proposing import others
from pellucid.samplers.proposing.publishing import publish
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, arrays, encoded
from pellucid.study.encoding import Dimension, Space, is_ordered

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from pellucid.surrogates.ranking.ranker import Ranked, Ranker, Serving

RankAcquisition = Literal["mean", "ucb", "ei"]
RankReference = Literal["incumbent", "last"]
_logger = logging.getLogger("pellucid")
_N_INCUMBENTS, _N_TOP = 5, 8
_FIRST_ROUND, _NEXT_ROUNDS = (2048, 512), (0, 512)
_ROUNDS = 3
# In some coordinate, a proposal differs so much from all known ones. The ranking as it was learned has one best place,
# whatever is found there: without a distance it would propose it again and again.
_APART = {"transferred": 0.1, "tuned": 0.02, "alone": 0.02}
# The share of the space that known configurations may keep from being proposed by that.
_MOST_TAKEN = 0.25
HAND_OVER = 50
_NEEDS = "RankingSampler needs torch and safetensors: `pip install 'pellucid[ranking]'`."


class RankingSampler(BaseSampler):
    """Proposals from a deep ranking surrogate that was meta-trained on earlier studies, or learns from this one alone.

    Args:
        model: a file that `pellucid meta-train` wrote, or what `RankingSampler.from_studies` made; None trains an
            ensemble on the trials of this study alone.
        acquisition: "mean" takes the configuration with the best mean rank, "ucb" one standard deviation of the members
            beyond it, "ei" the largest expected improvement in rank on the `reference`.
        reference: for "ei": the "incumbent", or the "last" trial as in the code of the source.
        fallback: takes over after `hand_over` trials, where the model does not serve the study, and where it misleads.
        hand_over: trials with a value after which the fallback proposes; from half of them on it makes every third
            proposal. None: never.
        seed: same seed, same trials, same proposals. None picks one at random.
        warn_independent_sampling: log when the model does not serve the study, and as for `BayesianSampler`.
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
        if fallback is not None and not isinstance(fallback, BayesianSampler):
            raise TypeError(f"`fallback` must be a pellucid.BayesianSampler(...), but got {fallback!r}.")
        if hand_over is not None and hand_over < 1:
            raise ValueError(f"`hand_over` must be None or at least 1, but got {hand_over}.")
        rankers = _rankers()
        if model is None or isinstance(model, rankers.Ranker):
            self._ranker: Ranker | None = model
        elif isinstance(model, (str, os.PathLike)):
            self._ranker = rankers.Ranker.from_file(model)
        else:
            raise TypeError(
                "`model` is the path of a file that `pellucid meta-train` wrote, or what `RankingSampler.from_studies` "
                f"uses, but got {model!r}."
            )
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._acquisition: RankAcquisition = acquisition
        self._reference: RankReference = reference
        if fallback is None:
            fallback = BayesianSampler(seed=self._seed, warn_independent_sampling=warn_independent_sampling)
        self._fallback = fallback
        self._hand_over = hand_over
        self._warn = warn_independent_sampling
        self._said: set[str] = set()

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
        """A sampler that has learned from these studies of a storage: at least three, of the same parameters, whatever
        sampler ran them. Takes about a minute; `progress` shows a bar. `RankingSampler.save` keeps the result."""
        from optuna import load_study

        from pellucid.samplers.progress import bar

        _rankers()
        from pellucid.surrogates.ranking.past import learn, past_of, steps_for
        from pellucid.surrogates.ranking.ranker import Ranker

        if isinstance(names, str):
            raise ValueError(f"`names` lists studies of the storage, but got {names!r}.")
        # One that is named twice is still one.
        past = past_of([load_study(study_name=name, storage=storage) for name in dict.fromkeys(names)])
        for name, why in past.left_out.items():
            _logger.warning("`%s` is left out: %s.", name, why)
        with bar("learning from earlier studies", steps_for(past), progress) as moved:
            model = learn(past, seed=0 if seed is None else seed, progress=moved)
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
        """Nothing to do for ourselves: every trial number has its own random stream."""
        self._fallback.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        study_io.require_single_objective(study, type(self).__name__)
        return self._fallback.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        study_io.require_single_objective(study, type(self).__name__)
        with one_thread:
            return publish(study, trial, lambda found: self._propose(study, trial, search_space, found))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """What the model wants of a parameter that no trial has had yet; at random where it wants nothing."""
        study_io.require_single_objective(study, type(self).__name__)
        try:
            receipt = study_io.read_receipt(trial)
        except RecordError:
            receipt = None
        if receipt is not None and receipt.kind == "ranking" and param_name in receipt.params:
            wanted = _nearest(param_name, param_distribution, receipt.params[param_name])
            if wanted is not None:
                return wanted[0]
        return self._fallback.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._fallback.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._fallback.after_trial(study, trial, state, values)

    # ------------------------------------------------------------------ how a proposal comes about

    def _propose(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        found: Sequence[FrozenTrial],
    ) -> tuple[dict[str, Any], Receipt]:
        try:
            made = self._ranked(study, trial, search_space, found)
        except Exception as error:  # Whatever goes wrong in the model, a running study gets its next trial.
            _logger.warning("Trial %d: the ranking failed (%s).", trial.number, error, exc_info=True)
            made = f"the ranking failed: {type(error).__name__}: {error}"[:500]
        if not isinstance(made, str):
            return made
        params, receipt = self._fallback.propose(study, trial, search_space, found)
        words = f"The fallback proposed it: {made}." if made else ""
        return params, replace(receipt, phase=f"{words} {receipt.phase}".strip())

    def _ranked(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        found: Sequence[FrozenTrial],
    ) -> tuple[dict[str, Any], Receipt] | str:
        """Parameters and receipt, or why the fallback has to propose."""
        seen = study_io.observations(found, study_io.sign(study))
        ready = len(seen) >= self._fallback.n_startup_trials
        why = fallback_turn(self._hand_over, len(seen), trial.number, ready=ready)
        if why:
            return why
        serving = self._serving(search_space, seen, found)
        if isinstance(serving, str):
            return serving
        data = encoded(serving.space, seen)
        if self._ranker is not None:
            contradiction = serving.contradiction(data.X, data.losses)
            if contradiction:
                return f"earlier studies mislead here, because {contradiction}"
            # Receipts that name the model do not tell: trials may come from another study.
            self._warn_once(
                "The ranking model could not be stored with the study (%s); the study goes on.",
                study_io.keep_model(study, self._ranker.name, self._ranker.data),
            )
        return self._first(study, trial, found, data, serving, search_space)

    def _serving(
        self, search_space: Mapping[str, BaseDistribution], seen: study_io.Observations, found: Sequence[FrozenTrial]
    ) -> Serving | str:
        if self._ranker is None:
            if not search_space or len(seen) < max(self._fallback.n_startup_trials, 2):
                return "" if not search_space else "too few trials have a value yet"
            serving: Serving = _rankers().alone(arrays(search_space, seen).space)
            return serving
        finished = study_io.distributions(found)
        # Until a trial has finished, ranges are those of trials that failed or are running: what they asked for so far.
        known = {name: one for name, (one, _) in (finished or study_io.distributions(found, tuple(TrialState))).items()}
        differing = self._ranker.differences(known, partial=not finished)
        differing += [f"`{name}` is not left to the sampler" for name in self._fixed(known, search_space)]
        why = f"the model does not serve this study ({'; '.join(differing)})" if differing else self._ranker.doubt
        if not why:
            return self._ranker.serving(known)
        if self._warn:
            self._warn_once("The fallback proposes all trials, because %s.", why)
        return why

    def _fixed(self, known: Mapping[str, BaseDistribution], search_space: Mapping[str, BaseDistribution]) -> list[str]:
        """Parameters of the model that a sampler around this one keeps to itself, once there is a space to search."""
        assert self._ranker is not None
        space = self._ranker.model.space
        ours = [name for name in space.names if name in known and name not in space.conditions]
        return [name for name in ours if search_space and name not in search_space and not known[name].single()]

    def _warn_once(self, words: str, why: str) -> None:
        if why and why not in self._said:
            self._said.add(why)
            _logger.warning(words, why)

    def _first(
        self,
        study: Study,
        trial: FrozenTrial,
        found: Sequence[FrozenTrial],
        data: Arrays,
        serving: Serving,
        search_space: Mapping[str, BaseDistribution],
    ) -> tuple[dict[str, Any], Receipt]:
        space, loss_sign, n = data.space, study_io.sign(study), len(data.losses)
        turn = "alone" if self._ranker is None else "tuned" if trial.number % 2 and n else "transferred"
        epochs = 0 if turn == "transferred" else _rankers().epochs_of(serving.model, n)
        if turn == "tuned" and epochs == 0:
            turn = "transferred"
        ranked = serving.fit(data.X, data.losses, epochs, self._seed)
        x = self._best(ranked, space, data, found, trial.number, _APART[turn])
        x = others.on_a_grid(space, x)[None]
        on = space.active(x)
        rng = stream(self._seed, "inactive", trial.number)
        # Inactive parameters get a value too: should the objective ask for one all the same, it has it.
        params = space.decode(np.where(on, x, rng.random(x.shape)), only_active=False)[0]
        active = {name: params[name] for name, wanted in zip(space.names, on[0], strict=True) if wanted}
        rank, sd = ranked.scale(self._seed, trial.number)(space.encode([active])[0])
        state = RankingState(
            model="" if self._ranker is None else self._ranker.name,
            turn=turn,
            epochs=epochs,
            acquisition=self._acquisition,
            reference=self._reference,
            rank=float(rank[0]),
            sd=float(sd[0]),
            candidates=_rankers().N_REFERENCE,
            studies=0 if self._ranker is None else self._ranker.studies,
        )
        receipt = Receipt(
            trial=trial.number,
            kind="ranking",
            seed=self._seed,
            params=others.plain(active),
            direction="maximize" if loss_sign < 0 else "minimize",
            space={one.name: study_io.source(found, one.name, one.distribution) for one in space.dimensions},
            conditions={child: condition.to_list() for child, condition in space.conditions.items()},
            ordinal=space.ordinal,
            fitted_on=compress_integers(data.observations.numbers),
            best_value=loss_sign * float(data.losses.min()) if n else None,
            ranking=state,
        )
        return {name: value for name, value in params.items() if name in search_space}, receipt

    def _best(
        self,
        ranked: Ranked,
        space: Space,
        data: Arrays,
        found: Sequence[FrozenTrial],
        number: int,
        apart: float,
    ) -> Array:
        """The best new configuration of many everywhere, then of more and more around the best of these."""
        rng = stream(self._seed, "ranking candidates", number)
        tried = others.known(space, found, number)
        # In a space of one or two parameters there is not so much room.
        apart = min(apart, 0.5 * (_MOST_TAKEN / max(len(tried), 1)) ** (1.0 / len(space)))
        known = Known(space, tried, SEPARATION)
        order = np.argsort(data.losses, kind="stable")
        reference = data.X[order[:1]] if self._reference == "incumbent" else data.X[-1:]
        X = candidates(space, data.X[order[:_N_INCUMBENTS]], rng, _FIRST_ROUND)
        for round_ in range(_ROUNDS):
            values = self._values(ranked, X, reference, space, len(data.losses))
            fresh = X[np.lexsort((ranked.beyond(X), -values))]
            # As the study measures it and as the model does: neither a narrow range nor a wide one is used up at once.
            near = known.exactly(fresh) if known.countable else _near(fresh, tried, ranked.placed, apart)
            if round_ < _ROUNDS - 1:
                top = fresh if known.countable else fresh[~near]
                X = np.unique(np.vstack([X, candidates(space, top[:_N_TOP], rng, _NEXT_ROUNDS)]), axis=0)
        if not near.all():
            return np.asarray(fresh[~near][0])
        left = unseen(space, known, rng)
        X = left if len(left) else X
        return np.asarray(X[int(np.argmax(self._values(ranked, X, reference, space, len(data.losses))))])

    def _values(self, ranked: Ranked, X: Array, reference: Array, space: Space, n: int) -> Array:
        reference = reference if self._acquisition == "ei" else reference[:0]
        mean, sd = ranked.predict(np.vstack([reference, X]))
        best = float(mean[0]) if len(reference) else 1.0
        mean, sd = mean[len(reference) :], sd[len(reference) :]
        kinds: dict[str, PointwiseAcquisition] = {"mean": LCB(0.0), "ucb": LCB(1.0), "ei": EI()}
        kind = kinds[self._acquisition]
        return kind.score(mean, np.maximum(sd, 1e-6), Situation(best, n, len(space)))


def fallback_turn(hand_over: int | None, n: int, number: int, *, ready: bool = True) -> str:
    """Why the fallback proposes trial `number` when n trials have a value; empty where the ranking does. A fallback
    that is not `ready` would propose at random: it gets no turn before it has to."""
    if hand_over is None or 2 * n < hand_over:
        return ""
    if n >= hand_over:
        return f"the ranking hands over after {hand_over} trials"
    if not ready or number % 3 != 2:
        return ""
    # Three that err differently find more than two: the ranking as learned, as tuned to this study, and the fallback.
    return f"every third proposal from {(hand_over + 1) // 2} trials on is the fallback's"


def _near(X: Array, tried: Array, placed: Callable[[Array], Array], apart: float) -> npt.NDArray[np.bool_]:
    """Which rows have a tried configuration within `apart` in every coordinate, and where they are `placed` too."""
    near = np.ones((len(tried), len(X)), dtype=bool)
    moved = placed(X)
    for mine, theirs in ((X, tried), (moved, placed(tried)))[: 1 if moved is X else 2]:
        for a, b in zip(mine.T, theirs.T, strict=True):
            near &= np.abs(a - b[:, None]) <= apart
    return np.asarray(near.any(axis=0))


def _rankers() -> Any:
    try:
        from pellucid.surrogates.ranking import ranker
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
    return (dimension.decode(np.clip(dimension.place(np.array([value], dtype=float)), 0.0, 1.0))[0],)
