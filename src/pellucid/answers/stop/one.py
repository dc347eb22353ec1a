"""Whether a study can stop: an upper bound of the regret, what the bound cannot know, and how it fell over the run.

The bound is the one that SAWEI watches (`acquisition.adaptive.upper_bound_regret`): how much better than the best
evaluated configuration any other could still be, according to the surrogate. SAWEI widens its bounds with the logarithm
of the number of trials, as proofs require; here each is a 95% bound, 1.64 standard deviations from the mean. A bound
within the tolerance is not enough for a stop: `blocks` has the reasons to go on all the same.
"""

from __future__ import annotations

import numpy as np
from optuna.study import Study

from pellucid.answers.stop.blocks import MIN_TRIALS, Evidence, blocks, more_trials, until_a_stop
from pellucid.answers.stop.records import RegretHistory, StoppingVerdict
from pellucid.answers.stop.several import front_regret_history_of, front_verdict_of
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.failing import unaware
from pellucid.beliefs.feasibility import none_feasible_clause
from pellucid.beliefs.of_study import beliefs_of, curve_notes, opened
from pellucid.beliefs.parts import gain_of_tuning
from pellucid.claims import STOP
from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.models.gp import check_template
from pellucid.models.states import Hyperparameters
from pellucid.numerics import is_number, is_whole_number, one_thread
from pellucid.provenance import ModelReceipt
from pellucid.search.acquisition.adaptive import upper_bound_regret
from pellucid.search.acquisition.base import explored_share
from pellucid.study.arrays import Arrays
from pellucid.study.observations import Observations
from pellucid.study.receipts import model_receipts
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.words import Note, as_share, called, choice_note, counted

# The doubt about every stop.
_UNSEEN = Note(
    "The model cannot see a narrow optimum that no trial has come near; "
    "if there may be one, add some random trials before you stop.",
    "evidence",
)
# Half-width of the bounds, in standard deviations: each is crossed in 5% of cases.
_WIDTH = 1.64
# Bounds over the run: each costs a Cholesky factor of the trials so far, so a dozen of them, and none beyond this many
# trials except the last.
_N_BOUNDS, _MOST_CONDITIONED = 12, 1500
# In a large study every constraint makes a bound much more expensive: there are fewer then, but no fewer than these.
_FEWEST_BOUNDS = 3
# The bound falls roughly with this power of the number of trials: on noisy design problems the median ratio of said to
# true was 0.9, and 64% of predictions were right to a factor of 2.5 (37% at the pace of the last trials).
_POWER = 0.6


def stopping_verdict(
    study: Study,
    *,
    regret_below: float | str | None = None,
    min_trials: int = MIN_TRIALS,
    surrogate: GaussianProcess | None = None,
    objective: str | int | None = None,
) -> StoppingVerdict:
    """Whether the study can stop, and why. Works for studies of any sampler.

    It advises to stop if the model sees no more than the tolerance left, and nothing speaks against it: a choice that
    has hardly been tried, other fits that suit the trials as well, a best value that has only just improved, or, with
    one or two parameters, parts of the space without a trial.

    With several objectives, the verdict (a `FrontVerdict`) is about the volume that the front of the feasible trials
    dominates, below the usual worst outcomes, outliers aside: by how much it could still grow, as a share.
    What speaks against a stop there: the last third of the trials made it grow by more than the tolerance, a choice
    that has hardly been tried, or other fits.

    Args:
        study: any study.
        regret_below: how much improvement you are ready to forgo: in the unit of the objective (0.002), or as a share
            of what tuning has gained so far ("2%"), which is the distance from the median of the first ten trials to
            the best one. None: the noise of one trial (its estimated standard deviation), because smaller differences
            cannot be seen anyway, or "3%" if that is more. With several objectives: a share of the volume ("2%"), by
            default "3%".
        min_trials: with fewer finished trials the verdict is always to continue.
        surrogate: kernel and warp of the models; default `GaussianProcess(warp="auto")`.
        objective: a verdict on this one alone, by name or number, if the study has several.
    """
    check_stopping(regret_below, min_trials)
    check_template(surrogate)
    if objective is None and len(study.directions) > 1:
        with one_thread:
            return front_verdict_of(beliefs_of(study), regret_below, min_trials, surrogate)
    with opened(study, "stopping_verdict", objective) as (beliefs, target):
        return stopping_verdict_of(beliefs, target, regret_below, min_trials, surrogate)


def stopping_verdict_of(
    beliefs: Beliefs,
    target: Target,
    regret_below: float | str | None = None,
    min_trials: int = MIN_TRIALS,
    surrogate: GaussianProcess | None = None,
) -> StoppingVerdict:
    view, every = beliefs.view, beliefs.data(target)
    observed = view.observed(target)
    n = sum(observed.complete)
    usable = np.array(observed.complete, dtype=bool) & observed.feasible
    best = target.sign * float(observed.losses[usable].min()) if usable.any() else None
    given = None if isinstance(regret_below, str) else regret_below
    name = target.name

    missing = _missing(view, observed, every, min_trials)
    if missing:
        return StoppingVerdict(False, n, best, None, given, None, missing, objective=name)
    model = beliefs.model(target, template=surrogate)
    bound, noise = beliefs.room(model, _WIDTH), _noise(model.gp)
    limit, words = _tolerance(regret_below, noise, gain_of_tuning(every))
    trials = "trials" if n == len(view.trials) else "complete trials"
    left = f"after {n} {trials}, the model sees room to improve {called(name)} by at most {bound:.2g}"
    left = f"{left}, {'above' if bound > limit else 'within'} {words}"
    if bound > limit:
        more = more_trials(n, bound, limit, _POWER)
        reason = f"{left}. {until_a_stop(n, more)}"
        notes = (*_rests_on(model, every), *unaware(beliefs.known_failing, model, every.space))
        return StoppingVerdict(False, n, best, bound, limit, noise, reason, notes, more_trials=more, objective=name)
    held_by = blocks(Evidence(beliefs, model, limit, _WIDTH))
    blocked = tuple(hold.words for hold in held_by)
    reason = f"{'; '.join(blocked)}. The bound alone would allow a stop: {left}" if blocked else left
    notes = (*_rests_on(model, every), *(() if blocked else (*_looks(view), _UNSEEN)))
    return StoppingVerdict(
        not blocked, n, best, bound, limit, noise, reason, notes, blocked, objective=name, held_by=held_by
    )


def check_stopping(regret_below: float | str | None, min_trials: int) -> None:
    """Raise ValueError if an argument of `stopping_verdict` is out of its range."""
    amount = as_share(regret_below) if isinstance(regret_below, str) else regret_below
    if regret_below is not None and not (is_number(amount) and np.isfinite(amount) and amount > 0.0):
        raise ValueError(
            "`regret_below` must be a positive number in the unit of the objective, a share of the gain such as '2%', "
            f"or None, but got {regret_below!r}."
        )
    if not is_whole_number(min_trials) or min_trials < 1:
        raise ValueError(f"`min_trials` must be a whole number of at least 1, but got {min_trials!r}.")


def _missing(view: StudyView, observed: Observations, every: Arrays, min_trials: int) -> str:
    """What a verdict lacks, in words; empty if nothing."""
    n = sum(observed.complete)
    if n < max(min_trials, 2):
        return f"a verdict needs {max(min_trials, 2)} complete trials, and this study has {n}"
    if not view.varying:
        return "no parameter varies, so there is nothing to model"
    if not (np.array(observed.complete, dtype=bool) & observed.feasible).any():
        return f"there is nothing to use yet. {none_feasible_clause(observed)}"
    inside = len(every)
    if inside < 2:
        return f"a verdict needs 2 finished trials inside the present ranges, and this study has {inside}"
    if np.ptp(every.losses) == 0.0:
        return "all finished trials returned the same value, which says nothing about the rest of the space"
    return "" if every.observations.feasible.any() else "no trial inside the present ranges is feasible"


def _rests_on(model: Model, every: Arrays) -> list[str]:
    """What a reader should know of the trials behind a model."""
    return curve_notes(model.data) + choice_note(len(model.data), len(every))


def _looks(view: StudyView) -> tuple[str, ...]:
    looks = sum(receipt.look for receipt in model_receipts(view.trials, len(view.trials)))
    text = f"{counted(looks, 'trial')} looked elsewhere once the search had settled."
    return (Note(text, "sampling"),) if looks else ()


def _tolerance(regret_below: float | str | None, noise: float, gain: float) -> tuple[float, str]:
    """In the unit of the objective, and in words."""
    if isinstance(regret_below, str):
        limit = (as_share(regret_below) or 0.0) * gain
        return limit, f"your tolerance of {limit:.2g} ({regret_below.strip()} of the gain so far)"
    if regret_below is not None:
        return regret_below, f"your tolerance of {regret_below:.2g}"
    if noise >= STOP.threshold * gain:
        return noise, f"the noise of one trial (about {noise:.2g})"
    limit = STOP.threshold * gain
    return limit, f"the tolerance of {limit:.2g} ({STOP.threshold:.0%} of the gain so far)"


def _noise(gp: GaussianProcess) -> float:
    """Standard deviation of one trial's noise near the best trials, in the unit of the objective.

    The warp stretches the scale, so the latent noise is mapped back where it matters: at the best trial.
    """
    best, sd = float(gp.latent_at_observed().min()), float(np.sqrt(gp.hyperparameters.noise))
    low, high = gp.losses(np.array([best - sd, best + sd]))
    return float(0.5 * (high - low))


# ---------------------------------------------------------------------- over the run


def regret_history(
    study: Study,
    *,
    regret_below: float | str | None = None,
    min_trials: int = MIN_TRIALS,
    objective: str | int | None = None,
) -> RegretHistory:
    """How much there was left to find over the run, and how much proposals explored.

    With several objectives: by what share the volume that the front dominated could still grow.

    Args:
        study, regret_below, min_trials, objective: as for `stopping_verdict`.
    """
    check_stopping(regret_below, min_trials)
    if objective is None and len(study.directions) > 1:
        with one_thread:
            return front_regret_history_of(beliefs_of(study), regret_below, min_trials)
    with opened(study, "regret_history", objective) as (beliefs, target):
        return regret_history_of(beliefs, target, regret_below, min_trials)


def regret_history_of(
    beliefs: Beliefs, target: Target, regret_below: float | str | None = None, min_trials: int = MIN_TRIALS
) -> RegretHistory:
    return regret_history_to(beliefs, target, stopping_verdict_of(beliefs, target, regret_below, min_trials))


def regret_history_to(beliefs: Beliefs, target: Target, stopping: StoppingVerdict) -> RegretHistory:
    """The course that led to a verdict."""
    after: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()
    if stopping.bound is not None:
        after, bounds = _bounds_over_the_run(beliefs, target, stopping.bound)
    proposals = model_receipts(beliefs.view.trials, len(beliefs.view.trials))
    return RegretHistory(
        stopping,
        after,
        bounds,
        tuple(receipt.trial for receipt in proposals),
        tuple(_alpha(receipt) for receipt in proposals),
        tuple(explored_share(receipt.acquisition) for receipt in proposals),
    )


def _bounds_over_the_run(
    beliefs: Beliefs, target: Target, last_bound: float
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Trial numbers and the bound after each, from the first feasible one on. Early ones are closer together, because
    the bound changes faster."""
    data, hyperparameters = beliefs.data(target), beliefs.model(target).gp.hyperparameters
    constraints, n = beliefs.constraint_fits(data.space), len(data)
    last = max(1, min(int(0.9 * n), _MOST_CONDITIONED))
    first = int(np.argmax(data.observations.feasible)) + 1
    n_bounds = (
        _N_BOUNDS if beliefs.view.choice is None else max(_FEWEST_BOUNDS, _N_BOUNDS // (1 + 2 * len(constraints)))
    )
    counts = np.unique(np.geomspace(min(last, 2 * len(data.space)), last, n_bounds).round().astype(int))
    counts = counts[counts >= first]
    bounds = [_bound_after(data, hyperparameters, count, constraints) for count in counts]
    numbers = data.observations.numbers
    return (*(numbers[count - 1] for count in counts), numbers[-1]), (*bounds, last_bound)


def _bound_after(
    data: Arrays, hyperparameters: Hyperparameters, count: int, constraints: tuple[ConstraintModel, ...]
) -> float:
    """The bound after the first `count` trials."""
    noise = data.observations.noise_variance
    gp = GaussianProcess.from_hyperparameters(hyperparameters)
    gp.condition(data.X[:count], data.losses[:count], None if noise is None else noise[:count])
    X = data.X[:count][data.observations.measured[:count]]
    return upper_bound_regret(gp, X, data.space, width=_WIDTH, constraints=constraints)[0]


def _alpha(receipt: ModelReceipt) -> float | None:
    """The weight that a policy set; None if the proposal was made without it: WEI's guard may have used EI instead."""
    if receipt.policy is None or "alpha" not in receipt.acquisition.settings:
        return None
    return receipt.policy.numbers.get("alpha")
