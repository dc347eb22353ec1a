"""Earlier studies as training tasks: the search space that they share, and the trials of each in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.models.ranking.ensemble import RankingEnsemble
from pellucid.models.ranking.training import Recipe
from pellucid.models.ranking.translation import is_among
from pellucid.numerics import Array, stream
from pellucid.space.conditions import infer_conditions
from pellucid.space.encoding import Space, is_ordered
from pellucid.study.arrays import encoded
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView
from pellucid.words import printable

Distributions = dict[str, list[BaseDistribution]]

# Fewer studies cannot show what is common to them; fewer trials do not show an order worth learning.
FEWEST_STUDIES, FEWEST_TRIALS = 3, 10
# From this many studies on, one in five is held out to check whether the model helps. With fewer, training needs all.
_ENOUGH_TO_HOLD_OUT = 5
# Steps of meta-training: in proportion to the trials, because few are learned sooner than many; the lower limit gives
# the smallest collections time to converge.
_STEPS_PER_TRIAL, _FEWEST_STEPS = 5, 750
# Reasons for leaving studies out that an error message lists.
_REASONS_NAMED = 5


@dataclass(frozen=True)
class EarlierStudies:
    """Studies of one search space.

    tasks      (name, X, losses) of each study: X (n, d) encoded in `space`, losses (n,), smaller is better
    left_out   names of the studies that cannot be used, and the reason
    """

    space: Space
    tasks: tuple[tuple[str, Array, Array], ...]
    left_out: Mapping[str, str]

    @staticmethod
    def of(studies: Sequence[Study]) -> EarlierStudies:
        """The usable studies; raises ValueError if they are too few or do not share a search space."""
        kept, left_out = _sorted_out(studies)
        if len(kept) < FEWEST_STUDIES:
            reasons = "".join(
                f" `{name}` is left out: {reason}." for name, reason in list(left_out.items())[:_REASONS_NAMED]
            )
            raise ValueError(
                printable(
                    f"Learning from earlier studies needs at least {FEWEST_STUDIES} of them, but there "
                    f"{'is' if len(kept) == 1 else 'are'} {len(kept)} to learn from.{reasons}"
                )
            )
        space = _shared_space(kept)
        tasks = []
        for name, (_, observations) in kept.items():
            data = encoded(space, observations)
            tasks.append((name, data.X, data.losses))
        return EarlierStudies(space, tuple(tasks), left_out)


_Kept = dict[str, tuple[Distributions, Observations]]


def learn(earlier: EarlierStudies, *, seed: int = 0, progress: Callable[[int], None] | None = None) -> RankingEnsemble:
    """A ranking model meta-trained on earlier studies.

    If there are five or more, one in five is held out: it decides when training stops and shows whether the model
    helps.
    """
    n = len(earlier.tasks)
    order = stream(seed, "held out", n).permutation(n)
    held_out = set(order[: n // 5].tolist()) if n >= _ENOUGH_TO_HOLD_OUT else set()
    train = [task for i, task in enumerate(earlier.tasks) if i not in held_out]
    validation = [earlier.tasks[i] for i in sorted(held_out)]
    ensemble = RankingEnsemble(earlier.space, recipe=Recipe(steps=steps_for(earlier)))
    return ensemble.meta_trained(train, validation, seed=seed, progress=progress)


def steps_for(earlier: EarlierStudies) -> int:
    """Largest number of steps of meta-training."""
    trials = sum(len(losses) for _, _, losses in earlier.tasks)
    return int(np.clip(_STEPS_PER_TRIAL * trials, _FEWEST_STEPS, Recipe().steps))


def _sorted_out(studies: Sequence[Study]) -> tuple[_Kept, dict[str, str]]:
    """Distributions and observations of the studies that can be used; the reason for each one that cannot."""
    kept: _Kept = {}
    left_out: dict[str, str] = {}
    for study in studies:
        name = _unique_name(study.study_name, {*kept, *left_out})
        if len(study.directions) != 1:
            left_out[name] = f"it has {len(study.directions)} objectives"
            continue
        view = StudyView.of(study, "Learning from earlier studies")
        observations = view.observations
        if len(observations) < FEWEST_TRIALS:
            left_out[name] = f"it has {len(observations)} trials with a value, but needs at least {FEWEST_TRIALS}"
        elif len(np.unique(observations.losses)) < 2:
            left_out[name] = "all its trials have the same value"
        else:
            kept[name] = (_distributions(view.trials), observations)
    return kept, left_out


def _unique_name(name: str, taken: Collection[str]) -> str:
    """Studies in different storages may have the same name; each of them counts."""
    count, unique = 1, name
    while unique in taken:
        count += 1
        unique = f"{name} ({count})"
    return unique


def _distributions(trials: Sequence[FrozenTrial]) -> Distributions:
    """Every distribution that a parameter had in finished trials: ranges may have changed during the study."""
    out: Distributions = {}
    for trial in trials:
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            for name, distribution in trial.distributions.items():
                known = out.setdefault(name, [])
                if distribution not in known:
                    known.append(distribution)
    return dict(sorted(out.items()))


# ---------------------------------------------------------------------- the shared search space


def _shared_space(kept: _Kept) -> Space:
    flat = Space.of(_common({name: distributions for name, (distributions, _) in kept.items()}))
    if not len(flat):
        raise ValueError("No parameter of these studies varies, so there is nothing to learn from them.")
    complete = [
        configuration
        for _, observations in kept.values()
        for configuration, done in zip(observations.configurations, observations.complete, strict=True)
        if done
    ]
    space = Space(flat.dimensions, infer_conditions(flat, complete))
    _require_same_parameters(space, kept)
    return space


def _common(by_study: Mapping[str, Distributions]) -> dict[str, BaseDistribution]:
    """The narrowest distributions that contain those of all studies; parameters that never vary are dropped."""
    names = list(dict.fromkeys(name for distributions in by_study.values() for name in distributions))
    out: dict[str, BaseDistribution] = {}
    for name in names:
        out[name] = _hull(
            name,
            [
                (study, distribution)
                for study, distributions in by_study.items()
                for distribution in distributions.get(name, ())
            ],
        )
    return {name: distribution for name, distribution in out.items() if not distribution.single()}


def _hull(name: str, by_study: Sequence[tuple[str, BaseDistribution]]) -> BaseDistribution:
    """The narrowest distribution that contains those of one parameter, (study, distribution) each."""
    kinds = {"choices" if isinstance(d, CategoricalDistribution) else "numbers": study for study, d in by_study}
    if len(kinds) > 1:
        raise ValueError(
            printable(
                f"These studies do not share a space: `{name}` has choices in `{kinds['choices']}` and numbers in "
                f"`{kinds['numbers']}`."
            )
        )
    if "choices" in kinds:
        return _union([d for _, d in by_study if isinstance(d, CategoricalDistribution)])
    numeric = [d for _, d in by_study if isinstance(d, (FloatDistribution, IntDistribution))]
    if all(d == numeric[0] for d in numeric):
        return numeric[0]
    low, high = min(d.low for d in numeric), max(d.high for d in numeric)
    log = any(d.log for d in numeric) and low > 0
    if all(isinstance(d, IntDistribution) for d in numeric):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _union(categoricals: Sequence[CategoricalDistribution]) -> CategoricalDistribution:
    """All choices; in order if the choices of every study are ordered."""
    union = categoricals[0]
    for distribution in categoricals[1:]:
        new = [choice for choice in distribution.choices if not is_among(choice, union)]
        union = CategoricalDistribution([*union.choices, *new])
    if all(map(is_ordered, categoricals)):
        numbers = [choice for choice in union.choices if isinstance(choice, (int, float))]
        return CategoricalDistribution(sorted(numbers, reverse=bool(numbers[0] > numbers[1])))
    return union


def _require_same_parameters(space: Space, kept: _Kept) -> None:
    for name in space.names:
        if name in space.conditions:
            continue
        without = [study for study, (distributions, _) in kept.items() if name not in distributions]
        if without:
            having = next(study for study, (distributions, _) in kept.items() if name in distributions)
            raise ValueError(
                printable(
                    f"These studies do not share a space: `{name}` is in `{having}` and not in `{without[0]}`. Learn "
                    "from studies of the same parameters; their ranges may differ."
                )
            )
