"""What one objective costs in another: exchange rates along the front, knees, and what trades or only wastes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from optuna.study import Study

from pellucid.answers.fronts.answer import modelled, not_modelled, notes_on
from pellucid.answers.fronts.candidates import at_levels, candidates
from pellucid.answers.fronts.exchange import FrontCurve, exchange_rates
from pellucid.answers.fronts.records import ExchangeRate, Knee, ParameterRole, Tradeoff
from pellucid.answers.fronts.roles import moves, parameter_roles
from pellucid.beliefs import Beliefs
from pellucid.beliefs.expectation import WIDENING, fewest, too_few
from pellucid.beliefs.feasibility import Feasibility
from pellucid.beliefs.front_draws import front_draws
from pellucid.beliefs.front_members import near_front, usable
from pellucid.beliefs.of_study import beliefs_of
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, is_whole_number, one_thread
from pellucid.pareto import front
from pellucid.study.arrays import Arrays
from pellucid.study.targets import named
from pellucid.study.view import StudyView
from pellucid.words import NoAnswer, NoAnswerYet, Note, counted, printable

LEVEL = 0.9
# Trials that are drawn together with the candidates, configurations on the front that parameters are moved from, and
# other configurations that stand for the front then.
_MOST_TRIALS, _N_MEMBERS, _N_FRONT = 100, 5, 30
# A front has a knee if it is this far from a straight line, as a share of its length, in this share of the draws.
# Its place is known if the band is shorter than the last share of the front.
_BENT, _SURE, _PLACED = 0.1, 0.9, 0.5
# Points of the curve that the record holds, and trials for the figure.
_N_CURVE, _MOST_SHOWN = 41, 400


def tradeoff(study: Study, between: Sequence[str | int] | None = None) -> Tradeoff:
    """What one objective costs in another along the front, and which parameters trade them.

    The front is the best second objective among all configurations, tried or not, whose first objective is at most (or
    at least, if it is maximised) some value. Between values of the first objective, the answer says what the second
    one gains, with a 90% band from joint draws of plausible models, widened for few trials.

    A parameter *trades* if moving it makes one objective better and the other worse, by 5% of the length of the front
    or more, and stays within 5% of it, or if its best value is another at the other end of the front; it *wastes* if
    moving it only falls behind. Both are said if nine in ten draws agree, and otherwise it is "not known".

    Args:
        study: a study with two to four objectives.
        between: the two objectives, by name or number; the second is what the first one buys. Needed if there are more
            than two; the others do not count then.
    """
    beliefs = beliefs_of(study)
    pair = _pair(beliefs.view, between)
    with one_thread:
        return tradeoff_of(beliefs, pair)


def tradeoff_of(beliefs: Beliefs, pair: tuple[int, int] = (0, 1)) -> Tradeoff:
    """`pair`: indices of the two objectives. Raises ValueError if there is no trade-off to speak of."""
    view = beliefs.view
    data, n = modelled(view)
    names = " and ".join(view.objectives[i].name for i in pair)
    if data is None:
        raise NoAnswerYet(f"A trade-off needs a model; in this study of {n} trials {not_modelled(view)}.")
    if too_few(*data.X.shape):
        d = len(data.space)
        raise NoAnswerYet(
            f"A trade-off needs at least {fewest(d)} finished trials inside the present ranges for "
            f"{counted(d, 'parameter')}, but this study has {n}."
        )
    search = _Search.of(beliefs, data, pair)
    curve = FrontCurve.of(search.draws(search.Z))
    if curve is None or not curve.middle[0] > curve.middle[-1]:
        raise NoAnswerYet(
            f"There is no trade-off between {names}: as far as {n} trials tell, one configuration is the "
            "best in both. `pellucid.recommend(study)` names it."
        )
    levels = curve.coarse()
    more = at_levels(search.models, data.space, search.Z, levels, search.feasibility)
    Z = np.vstack([search.Z, more])
    F = search.draws(Z)
    first, second = (view.objectives[i] for i in pair)
    knee, notes = _knee(view, search, curve)
    return Tradeoff(
        objectives=(first.name, second.name),
        directions=(first.direction, second.direction),
        rates=_rates(exchange_rates(F, levels, search.n_trials), levels, first.sign),
        knee=knee,
        parameters=_roles(search, Z, F, curve, levels),
        curve=_curve(curve, first.sign, second.sign),
        level=LEVEL,
        n_trials=n,
        trials=_shown(view, search, pair),
        notes=(*notes_on(view, data, n), *notes),
    )


def _pair(view: StudyView, between: Sequence[str | int] | None) -> tuple[int, int]:
    k = len(view.objectives)
    if k < 2:
        raise NoAnswer(f"A trade-off is between two objectives, but this study has one: {named(view.objectives)}.")
    if between is None:
        if k > 2:
            raise ValueError(
                printable(
                    f"`between` names two objectives, because this study has {k}: {named(view.objectives)}. Pass, for "
                    f"example, between=({named(view.objectives[:2])})."
                )
            )
        return 0, 1
    keys = list(between) if isinstance(between, (list, tuple)) else []
    names = [objective.name for objective in view.objectives]
    numbers = [names.index(key) if isinstance(key, str) and key in names else key for key in keys]
    known = [int(i) for i in numbers if is_whole_number(i) and 0 <= i < k]
    if len(numbers) != 2 or len(set(known)) != 2:
        raise ValueError(
            printable(f"`between` names two different objectives of {named(view.objectives)}, but got {between!r}.")
        )
    return known[0], known[1]


@dataclass(frozen=True, eq=False)
class _Search:
    """Trials near the front and more candidates, Z (m, d): the first `n_trials` of them are trials, in `rows`."""

    beliefs: Beliefs
    data: Arrays
    pair: tuple[int, int]
    models: tuple[GaussianProcess, ...]
    feasibility: Feasibility | None
    rows: Indices
    Z: Array

    @staticmethod
    def of(beliefs: Beliefs, data: Arrays, pair: tuple[int, int]) -> _Search:
        everything = beliefs.objective_models(data)
        models = tuple(everything[i].gp for i in pair)
        feasibility = beliefs.feasibility(beliefs.view.objectives[0], data)
        rows = near_front(models, data.X, usable(data), _MOST_TRIALS)
        Z = np.vstack([data.X[rows], candidates(models, data, feasibility)])
        return _Search(beliefs, data, pair, models, feasibility, rows, Z)

    @property
    def n_trials(self) -> int:
        return len(self.rows)

    def draws(self, Z: Array, *, sparse: bool = False) -> Array:
        """(s, m, 2), infinite where infeasible. `sparse`: from models that leave out parameters."""
        drawn = front_draws(self.beliefs, self.data, Z, WIDENING, sparse=sparse)
        return np.asarray(drawn.kept[:, :, list(self.pair)])


def _rates(rates: Array, levels: Array, sign: float) -> tuple[ExchangeRate, ...]:
    tail = 0.5 * (1.0 - LEVEL)
    out = []
    for start, stop, draws in zip(levels[:-1].tolist(), levels[1:].tolist(), rates.T, strict=True):
        low, gain, high = np.quantile(draws * (stop - start), [tail, 0.5, 1.0 - tail]).tolist()
        out.append(ExchangeRate(sign * start, sign * stop, gain, low, high))
    return tuple(out)


def _knee(view: StudyView, search: _Search, curve: FrontCurve) -> tuple[Knee | None, list[str]]:
    below, tail = curve.below(), 0.5 * (1.0 - LEVEL)
    most = int(np.argmax(below.mean(axis=0)))
    if (below[:, most] >= _BENT).mean() < _SURE:
        straight = (below.max(axis=1) >= _BENT).mean() <= 1.0 - _SURE
        return None, [] if straight else [Note("It is not known whether the front has a knee.", "evidence")]
    at = curve.levels[np.argmax(below, axis=1)]
    half = 0.5 * float(curve.levels[1] - curve.levels[0])  # The front is known at levels, not between them.
    low, middle, high = np.quantile(at, [tail, 0.5, 1.0 - tail]).tolist()
    low, high = low - half, high + half
    if high - low > _PLACED * (curve.levels[-1] - curve.levels[0]):
        return None, [Note("The front bends, but it is not known where.", "evidence")]
    first, second = search.pair
    sign = view.objectives[first].sign
    # The trial of the front that comes next to the knee, both objectives in units of their length.
    Y = search.data.observations.values[search.rows][:, [first, second]]
    target = np.array([middle, np.interp(middle, curve.levels, curve.middle)])
    apart = np.abs((Y - target) / _lengths(curve)).max(axis=1)
    trial = search.data.observations.numbers[int(search.rows[int(np.argmin(apart))])]
    ends = sorted((sign * low, sign * high))
    return Knee(sign * middle, ends[0], ends[1], float(np.median(below[:, most])), trial), []


def _lengths(curve: FrontCurve) -> Array:
    """(2,) of the front, in either objective."""
    middle = curve.middle
    return np.array([curve.levels[-1] - curve.levels[0], middle[0] - middle[-1]])


def _roles(search: _Search, Z: Array, F: Array, curve: FrontCurve, levels: Array) -> tuple[ParameterRole, ...]:
    """Parameters are moved from the configurations that are best at each level."""
    with np.errstate(invalid="ignore"):
        middle = np.median(F, axis=0)
    best = [int(np.argmin(np.where(middle[:, 0] <= level, middle[:, 1], np.inf))) for level in levels[:_N_MEMBERS]]
    chosen = list(dict.fromkeys(best))
    on = np.flatnonzero(front(middle) & np.isfinite(middle).all(axis=1))
    on = on[np.argsort(middle[on, 0], kind="stable")]
    rest = on[np.unique(np.linspace(0, len(on) - 1, min(_N_FRONT, len(on))).round().astype(int))] if len(on) else on
    members = Z[[*chosen, *(i for i in rest.tolist() if i not in chosen)]]
    moved = moves(search.data.space, members[: len(chosen)])
    G = search.draws(np.vstack([members, moved.X]), sparse=True) / _lengths(curve)
    return parameter_roles(search.data.space, moved, G, len(members))


def _curve(curve: FrontCurve, first: float, second: float) -> tuple[tuple[float, float, float, float], ...]:
    at = np.linspace(0, len(curve.levels) - 1, _N_CURVE).round().astype(int)
    tail = 0.5 * (1.0 - LEVEL)
    ends = second * np.quantile(curve.phi[:, at], [0.5, tail, 1.0 - tail], axis=0)
    rows = np.stack([first * curve.levels[at], ends[0], ends[1:].min(axis=0), ends[1:].max(axis=0)], axis=1)
    return tuple((a, b, c, d) for a, b, c, d in rows.tolist())


def _shown(view: StudyView, search: _Search, pair: tuple[int, int]) -> tuple[tuple[float, float], ...]:
    """What feasible trials returned, in both objectives."""
    observations = search.data.observations
    numbers = [observations.numbers[i] for i in np.flatnonzero(observations.feasible).tolist()][-_MOST_SHOWN:]
    values = [view.by_number[number].values for number in numbers]
    return tuple((float(each[pair[0]]), float(each[pair[1]])) for each in values)
