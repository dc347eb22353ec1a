"""Earlier studies as tasks: the space that they share, and what each of them found in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study

from pellucid.numerics import Array, stream
from pellucid.space import study_io
from pellucid.space.activity import infer_conditions
from pellucid.space.encoding import Space
from pellucid.space.study_io import Observations
from pellucid.surrogates.from_study import encoded
from pellucid.surrogates.ranking.ensemble import RankingEnsemble

FEWEST_STUDIES, FEWEST_TRIALS = 3, 10
# Of so many studies one in five is held out, to see whether the model helps.
_ENOUGH_TO_HOLD_OUT = 5


@dataclass(frozen=True)
class Past:
    """Tasks of a common space: (name, X, losses); and the studies that were left out, with the reason."""

    space: Space
    tasks: tuple[tuple[str, Array, Array], ...]
    left_out: Mapping[str, str]


def past_of(studies: Sequence[Study]) -> Past:
    """What can be learned from; ValueError where that is too little or does not fit together."""
    left_out: dict[str, str] = {}
    kept: dict[str, tuple[dict[str, BaseDistribution], Observations]] = {}
    for study in studies:
        name = study.study_name
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
            known = study_io.distributions(found)
            kept[name] = ({p: d for p, (d, _) in known.items()}, seen)
    if len(kept) < FEWEST_STUDIES:
        reasons = "".join(f" `{name}` is left out: {why}." for name, why in list(left_out.items())[:5])
        raise ValueError(
            f"Learning from earlier studies needs at least {FEWEST_STUDIES} of them, but there "
            f"{'is' if len(kept) == 1 else 'are'} {len(kept)} to learn from.{reasons}"
        )
    flat = Space.of(_common({name: distributions for name, (distributions, _) in kept.items()}))
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
    return RankingEnsemble(past.space).meta_trained(train, validation, seed=seed, progress=progress)


def _common(by_study: Mapping[str, Mapping[str, BaseDistribution]]) -> dict[str, BaseDistribution]:
    """The narrowest distributions that hold those of all studies."""
    names = list(dict.fromkeys(name for distributions in by_study.values() for name in distributions))
    out: dict[str, BaseDistribution] = {}
    for name in names:
        having = {study: d[name] for study, d in by_study.items() if name in d}
        out[name] = _hull(name, having)
    return {name: distribution for name, distribution in out.items() if not distribution.single()}


def _hull(name: str, having: Mapping[str, BaseDistribution]) -> BaseDistribution:
    first, *others = having.values()
    if all(one == first for one in others):
        return first
    kinds = {
        "choices" if isinstance(one, CategoricalDistribution) else "numbers": study for study, one in having.items()
    }
    if len(kinds) > 1:
        raise ValueError(
            f"These studies do not share a space: `{name}` has choices in `{kinds['choices']}` and numbers in "
            f"`{kinds['numbers']}`."
        )
    if isinstance(first, CategoricalDistribution):
        choices: list[bool | int | float | str | None] = []
        for one in having.values():
            assert isinstance(one, CategoricalDistribution)
            choices += [choice for choice in one.choices if not _is_in(choice, choices)]
        return CategoricalDistribution(choices)
    numeric = [one for one in having.values() if isinstance(one, (FloatDistribution, IntDistribution))]
    low, high = min(one.low for one in numeric), max(one.high for one in numeric)
    log = any(one.log for one in numeric) and low > 0
    if all(isinstance(one, IntDistribution) for one in numeric):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _is_in(choice: object, choices: Sequence[object]) -> bool:
    return any(type(one) is type(choice) and repr(one) == repr(choice) for one in choices)


def _require_same_parameters(
    space: Space, kept: Mapping[str, tuple[Mapping[str, BaseDistribution], Observations]]
) -> None:
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
