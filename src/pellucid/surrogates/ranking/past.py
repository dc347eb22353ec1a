"""Earlier studies as tasks: the space that they share, and what each of them found in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.numerics import Array, stream
from pellucid.study import study_io
from pellucid.study.activity import infer_conditions
from pellucid.study.arrays import encoded
from pellucid.study.encoding import Space, is_ordered
from pellucid.study.observations import Observations
from pellucid.surrogates.ranking.ensemble import RankingEnsemble
from pellucid.surrogates.ranking.serving import is_among
from pellucid.surrogates.ranking.training import Recipe

Distributions = dict[str, list[BaseDistribution]]
FEWEST_STUDIES, FEWEST_TRIALS = 3, 10
# Of so many studies one in five is held out, to see whether the model helps.
_ENOUGH_TO_HOLD_OUT = 5
_STEPS_PER_TRIAL, _FEWEST_STEPS = 5, 750


@dataclass(frozen=True)
class Past:
    """Tasks of a common space: (name, X, losses); and the studies that were left out, with the reason."""

    space: Space
    tasks: tuple[tuple[str, Array, Array], ...]
    left_out: Mapping[str, str]


def past_of(studies: Sequence[Study]) -> Past:
    """What can be learned from; ValueError where that is too little or does not fit together."""
    left_out: dict[str, str] = {}
    kept: dict[str, tuple[Distributions, Observations]] = {}
    for study in studies:
        name = _own_name(study.study_name, {*kept, *left_out})
        if len(study.directions) != 1:
            left_out[name] = f"it has {len(study.directions)} objectives"
            continue
        found = study_io.trials(study)
        seen = study_io.observations(found, study_io.sign(study))
        if len(seen) < FEWEST_TRIALS:
            left_out[name] = f"it has {len(seen)} trials with a value, and {FEWEST_TRIALS} are the least"
        elif len(np.unique(seen.losses)) < 2:
            left_out[name] = "all its trials have the same value"
        else:
            kept[name] = (_distributions(found), seen)
    if len(kept) < FEWEST_STUDIES:
        reasons = "".join(f" `{name}` is left out: {why}." for name, why in list(left_out.items())[:5])
        raise ValueError(
            f"Learning from earlier studies needs at least {FEWEST_STUDIES} of them, but there "
            f"{'is' if len(kept) == 1 else 'are'} {len(kept)} to learn from.{reasons}"
        )
    flat = Space.of(_common({name: distributions for name, (distributions, _) in kept.items()}))
    if not len(flat):
        raise ValueError("These studies have no parameter that varies, so that there is nothing to learn from them.")
    everything = [
        configuration
        for _, seen in kept.values()
        for configuration, done in zip(seen.configurations, seen.complete, strict=True)
        if done
    ]
    space = Space(flat.dimensions, infer_conditions(flat, everything))
    _require_same_parameters(space, kept)
    tasks = []
    for name, (_, seen) in kept.items():
        data = encoded(space, seen)
        tasks.append((name, data.X, data.losses))
    return Past(space, tuple(tasks), left_out)


def learn(past: Past, *, seed: int = 0, progress: Callable[[int], None] | None = None) -> RankingEnsemble:
    """A ranking model of earlier studies; of five or more, one in five says whether it helps and when to stop."""
    n = len(past.tasks)
    order = stream(seed, "held out", n).permutation(n)
    held_out = set(order[: n // 5].tolist()) if n >= _ENOUGH_TO_HOLD_OUT else set()
    train = [task for i, task in enumerate(past.tasks) if i not in held_out]
    validation = [past.tasks[i] for i in sorted(held_out)]
    ensemble = RankingEnsemble(past.space, recipe=Recipe(steps=steps_for(past)))
    return ensemble.meta_trained(train, validation, seed=seed, progress=progress)


def steps_for(past: Past) -> int:
    """Of meta-training: a few trials are learned sooner than many."""
    trials = sum(len(losses) for _, _, losses in past.tasks)
    return int(np.clip(_STEPS_PER_TRIAL * trials, _FEWEST_STEPS, Recipe().steps))


def _own_name(name: str, taken: Collection[str]) -> str:
    """Studies of different storages may have the same name, and all of them count."""
    count, own = 1, name
    while own in taken:
        count += 1
        own = f"{name} ({count})"
    return own


def _distributions(found: Sequence[FrozenTrial]) -> Distributions:
    """Every distribution that a parameter had in finished trials: ranges may have changed on the way."""
    out: Distributions = {}
    for trial in found:
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            for name, distribution in trial.distributions.items():
                known = out.setdefault(name, [])
                if distribution not in known:
                    known.append(distribution)
    return dict(sorted(out.items()))


def _common(by_study: Mapping[str, Distributions]) -> dict[str, BaseDistribution]:
    """The narrowest distributions that hold those of all studies."""
    names = list(dict.fromkeys(name for distributions in by_study.values() for name in distributions))
    out: dict[str, BaseDistribution] = {}
    for name in names:
        out[name] = _hull(name, [(study, one) for study, had in by_study.items() for one in had.get(name, ())])
    return {name: distribution for name, distribution in out.items() if not distribution.single()}


def _hull(name: str, having: Sequence[tuple[str, BaseDistribution]]) -> BaseDistribution:
    """having: studies and the distributions of this parameter in them."""
    kinds = {"choices" if isinstance(one, CategoricalDistribution) else "numbers": study for study, one in having}
    if len(kinds) > 1:
        raise ValueError(
            f"These studies do not share a space: `{name}` has choices in `{kinds['choices']}` and numbers in "
            f"`{kinds['numbers']}`."
        )
    if "choices" in kinds:
        return _union([one for _, one in having if isinstance(one, CategoricalDistribution)])
    numeric = [one for _, one in having if isinstance(one, (FloatDistribution, IntDistribution))]
    if all(one == numeric[0] for one in numeric):
        return numeric[0]
    low, high = min(one.low for one in numeric), max(one.high for one in numeric)
    log = any(one.log for one in numeric) and low > 0
    if all(isinstance(one, IntDistribution) for one in numeric):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _union(having: Sequence[CategoricalDistribution]) -> CategoricalDistribution:
    """All choices; where all studies have them in order, so has their union."""
    union = having[0]
    for one in having[1:]:
        union = CategoricalDistribution([*union.choices, *(c for c in one.choices if not is_among(c, union))])
    if all(map(is_ordered, having)):
        numbers = [c for c in union.choices if isinstance(c, (int, float))]
        return CategoricalDistribution(sorted(numbers, reverse=numbers[0] > numbers[1]))
    return union


def _require_same_parameters(space: Space, kept: Mapping[str, tuple[Distributions, Observations]]) -> None:
    for name in space.names:
        if name in space.conditions:
            continue
        without = [study for study, (distributions, _) in kept.items() if name not in distributions]
        if without:
            having = next(study for study, (distributions, _) in kept.items() if name in distributions)
            raise ValueError(
                f"These studies do not share a space: `{name}` is in `{having}` and not in `{without[0]}`. Learn from "
                "studies of the same parameters; their ranges may differ."
            )
