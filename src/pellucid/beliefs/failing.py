"""The settings at which trials fail: found once for a view, because several answers look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from pellucid.beliefs.failing_rules import Rule, Table, failing_rules
from pellucid.beliefs.model import Model
from pellucid.beliefs.settings import FailingCondition, FailingSetting
from pellucid.models import GaussianProcess
from pellucid.numerics import Mask, low_discrepancy
from pellucid.space.encoding import Space
from pellucid.study.trials import ended
from pellucid.words import NoAnswerYet, Note

# With fewer failed trials, nothing can be said about what they share.
_FEWEST = 3
# Places of a setting at which a model is asked whether something better may be there, at the better end of a 95% band.
_N_PLACES, _OPTIMISTIC = 1024, 1.96


@dataclass(frozen=True)
class Failing:
    """The settings, and how many of the trials with parameters failed: in all, and among those without a setting."""

    settings: tuple[FailingSetting, ...]
    n_trials: int
    n_failed: int
    n_other: int
    n_other_failed: int


def failing_settings(trials: Sequence[FrozenTrial]) -> Failing:
    """Raises NoAnswerYet if there is nothing to compare."""
    trials = [trial for trial in ended(trials) if trial.params]
    failed = np.array([trial.state == TrialState.FAIL for trial in trials], dtype=bool)
    total = int(failed.sum())
    if total and failed.all():
        some = f"All {total} trials failed" if total > 1 else "The only trial failed"
        raise NoAnswerYet(f"{some}, so there is nothing to compare: fix what makes trials fail.")
    if total < _FEWEST:
        raise NoAnswerYet(
            f"This answer needs at least {_FEWEST} failed trials with parameters; this study has {total}."
        )
    table = _table(trials, failed)
    rules = failing_rules(table)
    insides = [rule.inside(table) for rule in rules]
    seen = np.zeros(len(trials), dtype=bool)
    settings = []
    for rule, inside in zip(rules, insides, strict=True):
        settings.append(_setting(rule, table, inside, inside & ~seen))
        seen |= inside
    return Failing(tuple(settings), len(trials), total, int((~seen).sum()), int(failed[~seen].sum()))


def _table(trials: Sequence[FrozenTrial], failed: Mask) -> Table:
    """Choices and numbers as the trials had them, inside the present ranges or not."""
    nominal = {n: isinstance(d, CategoricalDistribution) for t in trials for n, d in t.distributions.items()}
    choices: dict[tuple[str, str, str], tuple[int, str, Any]] = {}
    rows: list[list[int]] = []
    names = [name for name in nominal if not nominal[name]]
    numbers = np.full((len(trials), len(names)), np.nan)
    for i, trial in enumerate(trials):
        row = []
        for name, value in trial.params.items():
            if nominal[name]:  # True, 1 and 1.0 are different choices.
                key = name, type(value).__name__, repr(value)
                row.append(choices.setdefault(key, (len(choices), name, value))[0])
            elif isinstance(value, int | float):
                numbers[i, names.index(name)] = value
        rows.append(row)
    has = np.zeros((len(trials), len(choices)), dtype=bool)
    for i, row in enumerate(rows):
        has[i, row] = True
    return Table(failed, tuple((name, value) for _, name, value in choices.values()), has, tuple(names), numbers)


def _setting(rule: Rule, table: Table, inside: Mask, fresh: Mask) -> FailingSetting:
    chosen = [table.choices[k] for k in sorted(rule.choices, key=lambda k: int(table.owner[k]))]
    conditions = [FailingCondition(name, "is", value) for name, value in chosen]
    if rule.end is not None:
        values = table.numbers[:, rule.number]
        whole = bool((values[~np.isnan(values)] % 1 == 0).all()) and rule.cut % 1 == 0
        conditions.append(FailingCondition(table.names[rule.number], rule.end, int(rule.cut) if whole else rule.cut))
    return FailingSetting(
        conditions=tuple(conditions),
        words=" with ".join(condition.words for condition in conditions),
        n_trials=int(inside.sum()),
        n_failed=int(table.failed[inside].sum()),
        n_new=int(table.failed[fresh].sum()),
        p=rule.p,
    )


def unaware(failing: Sequence[FailingSetting], model: Model, space: Space, about: str = "") -> tuple[str, ...]:
    """Notes for answers of a model that knows values only: if it sees something better than the best trial where trials
    fail, and if the answer is about a parameter (`about`) whose values make them fail."""
    promising = [setting for setting in failing if _promises(model.gp, space, setting.conditions, about)]
    notes = [
        Note(f"With {setting.words}, {setting.outcome}: what is shown there is a guess.", "failures")
        for setting in failing
        if setting not in promising and any(condition.param == about for condition in setting.conditions)
    ]
    if promising:
        where = ", or at ".join(setting.words for setting in promising)
        may = f"some of the improvement that it sees may lie at {where}"
        notes.append(Note(f"The model does not know where trials fail: {may}.", "failures"))
    return tuple(notes)


def _promises(gp: GaussianProcess, space: Space, conditions: Sequence[FailingCondition], about: str) -> bool:
    """Whether the model allows for something better than the best trial where all conditions hold, and the parameter
    `about` exists, if there is one."""
    points = low_discrepancy(1, _N_PLACES, np.zeros(len(space)))
    for condition in conditions:
        if condition.param not in space.index:
            return True
        column = space.index[condition.param]
        dimension = space.dimensions[column]
        if condition.what == "is":
            place, inside = dimension.encode([condition.value])
            if not inside[0]:
                return False
            points[:, column] = place
        else:
            cut = float(np.clip(dimension.place(np.array([float(condition.value)]))[0], 0.0, 1.0))
            low, high = (cut, 1.0) if condition.what == "at least" else (0.0, cut)
            points[:, column] = low + (high - low) * points[:, column]
    points = space.canonical(points)
    columns = [space.index[name] for name in (*(condition.param for condition in conditions), about) if name]
    points = points[space.active(points)[:, columns].all(axis=1)]
    if len(points) == 0:
        return False
    mean, sd = gp.latent(points)
    return bool((mean - _OPTIMISTIC * sd).min() < gp.latent_at_observed().min())


# ---------------------------------------------------------------------- advice about a choice


def always_fails(failing: Sequence[FailingSetting], param: str, value: Any) -> FailingSetting | None:
    """The setting that is this choice alone; None if there is none."""
    return next((s for s in failing if len(s.conditions) == 1 and _has(s, param, value)), None)


def fails_with(failing: Sequence[FailingSetting], param: str, value: Any) -> list[tuple[str, FailingSetting]]:
    """What this choice must not be combined with, in words, and the settings that say so."""
    return [
        (" with ".join(c.words for c in setting.conditions if c.param != param), setting)
        for setting in failing
        if len(setting.conditions) > 1 and _has(setting, param, value)
    ]


def _has(setting: FailingSetting, param: str, value: Any) -> bool:
    return any(
        c.param == param and c.what == "is" and type(c.value) is type(value) and repr(c.value) == repr(value)
        for c in setting.conditions
    )
