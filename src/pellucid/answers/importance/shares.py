"""Which parameters matter for the objective: the shares of its variance over the whole space, from a model.

The model learns from all trials, whoever chose them, so this needs no random trials. A parameter that always exists is
judged over the whole space, and a conditional one inside the branch in which it exists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.study import Study

from pellucid.answers.importance.indices import GroupIndices, indices_of
from pellucid.answers.importance.records import Importance, PairShare, ParameterShare
from pellucid.answers.importance.share_words import FEWEST_TO_JUDGE, ranked, share_sentence
from pellucid.beliefs import Beliefs
from pellucid.beliefs.explored import all_over, unexplored
from pellucid.beliefs.of_study import curve_notes, opened
from pellucid.claims import EVIDENCE, SHARE_MATTERS, SHARE_SMALL, SHARE_SMALL_THOUGH_EVIDENT
from pellucid.models import fitting
from pellucid.models.hyperparameters import vary
from pellucid.numerics import Array, check_level
from pellucid.progress import Bar, progress_bar
from pellucid.space.encoding import Space
from pellucid.space.text import condition_text
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target
from pellucid.words import NoAnswer, NoAnswerYet, Note, about, called, outside_note, selection_note, spoken

# Trials below which nothing is computed.
_FEWEST = 3
# Trials that the model uses at most.
_MOST_TRIALS = 600
# Trials above which the answer takes more than a second, so that a progress bar is shown, and its steps.
_MANY_TRIALS, _STEPS = 200, ("model", "plausible models", "shares of the variance", "evidence")
_HIDDEN = Bar()
# One, two or three trials are named if they account for more than these shares of the variance of the values.
# If one trial accounts for more than the last number, nothing is known about the shares: where it lies decides them.
_MOSTLY, _ALONE = (0.5, 0.65, 0.8), 0.9
# Draws do not know that the model may be wrong far from the trials of an optimiser. On the scale arcsin(sqrt(index)),
# on which errors hardly depend on the index, intervals are longer than those of the draws by a factor and a constant.
_LONGER, _MARGIN = 1.5, 0.05


def importance(
    study: Study, *, objective: str | int | None = None, level: float = 0.95, progress: bool = True
) -> Importance:
    """What matters for the objective: how its variance over the whole space divides between parameters.

    Works for the trials of any sampler. A total index is the share of the variance that is lost if the parameter is
    held; `no effect` is said only if it is small with confidence. See `hsic_importance` for what matters for reaching a
    goal, and for what makes trials fail.

    Args:
        study: any study.
        objective: the name or number of one of several objectives, or the name of a constraint, for an answer about
            that; default: the study's only objective.
        level: of the intervals.
        progress: show a progress bar, on a terminal or in a notebook, if the study has more than 200 trials.
    """
    check_level(level)
    with opened(study, "importance", objective) as (beliefs, target):
        show = progress and len(beliefs.view.observed(target)) > _MANY_TRIALS
        with progress_bar(_STEPS[0], len(_STEPS), show=show) as bar:
            return shares_of(beliefs, target, level, bar)


def shares_of(beliefs: Beliefs, target: Target, level: float = 0.95, bar: Bar = _HIDDEN) -> Importance:
    n = len(beliefs.view.observed(target))
    if n == 0:
        raise NoAnswerYet(f"Importance needs at least {_FEWEST} finished trials with a value; this study has none.")
    if not beliefs.view.varying:
        raise NoAnswer("No parameter of this study varies, so none can matter.")
    data = beliefs.data(target)
    inside = len(data.losses)
    if inside < _FEWEST:
        where = "" if inside == n else " inside the present ranges"
        raise NoAnswerYet(f"Importance needs at least {_FEWEST} finished trials{where}; this study has {inside}.")
    if not vary(data.losses):
        raise NoAnswerYet(f"All {inside} trials returned the same value, so it is not known what matters.")
    notes: list[str] = [outside_note(n - inside, n)] if inside < n else []
    used = thinned(data)
    if len(used.losses) < inside:
        notes.append(selection_note("Importance", len(used.losses), inside))
    model, typical = beliefs.fits(target).effect_model(used)
    bar.advance(_STEPS[1])
    if typical:
        what = called(target.name)
        notes.append(Note(f"The model sees {what} on a bent scale, on which extreme values count less.", "scope"))
    plausible = model.plausible
    bar.advance(_STEPS[2])
    answers = indices_of(model.gp, plausible, used.space)
    bar.advance(_STEPS[3])
    gains = model.evidence
    bar.advance()
    parameters = [share for answer in answers for share in _judged(answer, gains, data, level)]
    pairs = [pair for answer in answers for pair in _pairs(answer, data.space)]
    parameters.sort(key=lambda share: (-share.total, -share.high))
    pairs.sort(key=lambda pair: -pair.index)
    best = tuple(data.observations.configurations[int(np.argmin(data.losses))])
    parameters = ranked(parameters, best)
    return Importance(
        objective=target.name,
        parameters=tuple(parameters),
        pairs=tuple(pairs),
        n_trials=inside,
        level=level,
        sentence=about(target.name, share_sentence(parameters, pairs, best, inside, level)),
        notes=(*notes, *curve_notes(used), *_dominated(data, answers), *unexplored(model.gp, all_over(used.space))),
    )


def _dominant(data: Arrays, answer: GroupIndices) -> tuple[list[int], float]:
    """The one, two or three trials without which the values of the study, or of a branch, would hardly differ, and
    their share of the variance; none if there are more."""
    rows = np.flatnonzero(data.space.active(data.X)[:, answer.group.columns[0]])
    losses = data.losses[rows]
    if len(answer.group.columns) < 2 or len(rows) < FEWEST_TO_JUDGE or not vary(losses):
        return [], 0.0
    squares = (losses - losses.mean()) ** 2
    order = np.argsort(-squares, kind="stable")[: len(_MOSTLY)]
    shares = squares[order].cumsum() / squares.sum()
    few = np.flatnonzero(shares > _MOSTLY)
    if len(few) == 0:
        return [], 0.0
    count = int(few[0]) + 1
    return [data.observations.numbers[i] for i in sorted(rows[order[:count]])], float(shares[count - 1])


def _dominated(data: Arrays, answers: Sequence[GroupIndices]) -> list[str]:
    """A note on the trials that account for most of the variance."""
    parts, several = [], False
    for answer in answers:
        numbers, share = _dominant(data, answer)
        if numbers:
            several |= len(numbers) > 1
            where = _branch_text(answer, data.space)
            trials = f"({'trial' if len(numbers) == 1 else 'trials'} {spoken([str(n) for n in numbers])}, {share:.0%})"
            parts.append(f"{where} {trials}" if where else trials)
    if not parts:
        return []
    subject = "Very few trials account for" if several else "A single trial accounts for"
    advice = "add random trials before you rely on shares"
    return [Note(f"{subject} most of the variance {spoken(parts)}: {advice}.", "evidence")]


def thinned(data: Arrays) -> Arrays:
    """The best trials, and the others evenly over time."""
    keep = fitting.subset(data.losses, _MOST_TRIALS)
    if len(keep) == len(data.losses):
        return data
    return Arrays(data.space, data.observations.select(keep.tolist()), data.X[keep])


def _branch_text(answer: GroupIndices, space: Space) -> str:
    condition = answer.group.condition
    return "" if condition is None else f"where {condition_text(space, condition)}"


def _judged(answer: GroupIndices, gains: Array, data: Arrays, level: float) -> list[ParameterShare]:
    """The parameters of a branch with their intervals and verdicts."""
    where = _branch_text(answer, data.space)
    numbers, share = _dominant(data, answer)
    rests_on_one = len(numbers) == 1 and share > _ALONE
    out = []
    for i, j in enumerate(answer.group.columns):
        name, gain = data.space.names[j], float(gains[j])
        total = supported(float(answer.total[i]), gain, len(data.losses))
        n_trials = sum(name in configuration for configuration in data.observations.configurations)
        low, high = (0.0, 1.0) if rests_on_one else _interval(answer.draws[i], total, level)
        verdict = _verdict(*_interval(answer.draws[i], total, SHARE_MATTERS.confidence), gain, n_trials)
        out.append(
            ParameterShare(
                name=name,
                first=min(float(answer.first[i]), total),
                total=total,
                low=low,
                high=high,
                verdict="cannot tell" if rests_on_one else verdict,
                branch=where,
                n_trials=n_trials,
            )
        )
    return out


def supported(total: float, gain: float, n_trials: int) -> float:
    """A total index, or 0 if a simpler model without the parameter explains the trials as well. A handful of trials
    cannot speak for anything, so their indices stay as they are."""
    return total if gain > 0.0 or n_trials < FEWEST_TO_JUDGE else 0.0


def _interval(draws: Array, total: float, level: float) -> tuple[float, float]:
    ends = np.quantile(draws, [0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    low, middle, high = np.arcsin(np.sqrt([min(float(ends[0]), total), total, max(float(ends[1]), total)]))
    low = max(middle - _LONGER * (middle - low) - _MARGIN, 0.0)
    high = min(middle + _LONGER * (high - middle) + _MARGIN, 0.5 * np.pi)
    # Rounding must not put the index outside.
    return min(float(np.sin(low)) ** 2, total), max(float(np.sin(high)) ** 2, total)


def _verdict(low: float, high: float, gain: float, n_trials: int) -> str:
    if n_trials < FEWEST_TO_JUDGE:
        return "cannot tell"
    if low > SHARE_MATTERS.threshold and gain > EVIDENCE:
        return "matters"
    small = SHARE_SMALL if gain < EVIDENCE else SHARE_SMALL_THOUGH_EVIDENT
    return "no effect" if high < small.threshold else "cannot tell"


def _pairs(answer: GroupIndices, space: Space) -> list[PairShare]:
    where = _branch_text(answer, space)
    return [PairShare((space.names[a], space.names[b]), index, where) for a, b, index in answer.pairs]
