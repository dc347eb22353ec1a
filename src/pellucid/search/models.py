"""The surrogates of a proposal: fitted again, or continued from the receipt of an earlier proposal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pellucid.models import GaussianProcess, thinning, warp
from pellucid.models.states import Hyperparameters
from pellucid.numerics import Array, Indices, expand_integers
from pellucid.provenance import ConstraintState, ModelReceipt, ModelState, Receipt
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays
from pellucid.study.constraint_data import ConstraintData
from pellucid.study.receipts import last_model_receipt, own_receipt
from pellucid.study.targets import Target
from pellucid.study.trials import same_distributions
from pellucid.study.view import StudyView

# Hyperparameters are learned again once the observations have grown by one in this many: one observation among a
# hundred hardly moves them, and learning is the most expensive part of a proposal.
_LEARN_EVERY = 25
# At every multiple of this many observations, learning also starts from scratch, to leave a poor local optimum.
_RESTART_EVERY = 25
# It also does if the value of a turn (see `branches`) was this many standard deviations away from its prediction: few
# trials speak about the parameters of a choice, and warm starts stay in whatever optimum they began in.
_SURPRISE = 3.0
# Curvatures of larger fits are not stored: receipts would grow with the square of the number of parameters.
_MAX_CURVATURE = 16
# Hyperparameters (and the warp) are learned again if a new latent loss is this many times larger than all before it.
_FAR = 2.0


# A model of an earlier proposal, of an objective or of a constraint, and the receipt that has it.
Past = tuple[ModelReceipt, ModelState | ConstraintState]


def fit(
    view: StudyView,
    objective: Target,
    data: Arrays,
    template: GaussianProcess,
    deterministic: bool,
    best: Indices | None = None,
) -> tuple[GaussianProcess, Arrays, int]:
    """The surrogate, the observations that it is conditioned on, and from how many its hyperparameters were learned.
    `best`: the observations that matter most, as positions; default: those with the least losses."""
    warped = template.warp is not None
    past = last_model_receipt(view.trials, template.kernel.name, warped=warped, index=objective.column)
    surprise = past is not None and surprised(past[0], view, objective, data)
    return continue_from(past, view, data, template, deterministic, best, surprise=surprise)


def fit_constraint(
    view: StudyView, known: ConstraintData, template: GaussianProcess, deterministic: bool
) -> tuple[GaussianProcess, Arrays, int]:
    """The same of a constraint."""
    last = last_model_receipt(view.trials, template.kernel.name, warped=template.warp is not None)
    past: Past | None = None
    if last is not None:
        receipt = last[0]
        past = next(((receipt, state) for state in receipt.constraints if state.name == known.name), None)
    return continue_from(past, view, known.data, template, deterministic)


def continue_from(
    past: Past | None,
    view: StudyView,
    data: Arrays,
    template: GaussianProcess,
    deterministic: bool,
    best: Indices | None = None,
    *,
    surprise: bool = False,
) -> tuple[GaussianProcess, Arrays, int]:
    """A fit that goes on from an earlier one, if there is one; `surprise`: also from scratch."""
    gp = template.unfitted(data.space.nominal, deterministic=deterministic)
    start, curvature = _warm_start(past, data.space)
    n, noise = len(data.losses), data.observations.noise_variance
    if past is not None and start is not None and not surprise and _serves_again(past, view, data, template):
        gp = GaussianProcess.from_hyperparameters(start)
        gp.inverse_hessian = curvature
        learned_from = past[1].learned_from
    else:
        restart = start is not None and (surprise or n % _RESTART_EVERY == 0)
        gp.learn(data.X, data.losses, noise, start=start, inverse_hessian=curvature, restart=restart)
        learned_from = n
    if n > thinning.MOST_TRIALS:
        l = np.array(gp.hyperparameters.lengthscales)
        data = data.select(thinning.representative_rows(gp.kernel, l, data.X, data.losses, thinning.MOST_ROWS, best))
    return gp.condition(data.X, data.losses, data.observations.noise_variance), data, learned_from


def surprised(last: ModelReceipt, view: StudyView, objective: Target, data: Arrays) -> bool:
    """Whether a value of a turn that the last model has not seen was far from its prediction."""
    # A large study is fitted on a choice of its trials, so `fitted_on` does not tell which of them are new.
    observed = zip(data.observations.numbers, data.losses, strict=True)
    new = {number: loss for number, loss in observed if number >= last.trial or str(number) in last.pending}
    receipts = [own_receipt(trial) for trial in view.trials if trial.number in new]
    return any(
        missed(receipt, float(new[receipt.trial]), objective.column) for receipt in receipts if receipt is not None
    )


def missed(receipt: Receipt, loss: float, objective: int = 0) -> bool:
    """Whether a turn returned a value far from what its receipt predicted."""
    if not isinstance(receipt, ModelReceipt) or not receipt.turn or receipt.look:
        return False
    model = receipt.model(objective)
    if model is None or model.latent_mean is None or model.latent_sd is None:
        return False
    h, m, s = model.hyperparameters, model.latent_mean, model.latent_sd
    z = (float(warp.forward(h.warp, np.array([loss]))[0]) - h.y_mean) / h.y_scale
    return abs(z - m) > _SURPRISE * math.sqrt(s * s + h.noise)


def _serves_again(past: Past, view: StudyView, data: Arrays, template: GaussianProcess) -> bool:
    """Whether earlier hyperparameters can be used unchanged: same model and space, hardly more observations."""
    last, model = past
    n, space, h = len(data.losses), data.space, model.hyperparameters
    if n % _RESTART_EVERY == 0 or not 0 <= n - model.learned_from <= n // _LEARN_EVERY:
        return False
    if h.warp is not None and template.warp is None:
        return False
    z = (warp.forward(h.warp, data.losses) - h.y_mean) / h.y_scale
    known = np.isin(data.observations.numbers, expand_integers(model.fitted_on))
    if z[~known].max(initial=0.0) > _FAR * max(1.0, float(z[known].max(initial=0.0))):
        return False
    distributions = [dimension.distribution for dimension in space.dimensions]
    return tuple(last.space) == space.names and same_distributions(view.trials, last.space, distributions)


def _warm_start(past: Past | None, space: Space) -> tuple[Hyperparameters | None, Array | None]:
    """Earlier hyperparameters in the order of this space, and their curvature if the space is the same."""
    if past is None:
        return None, None
    last, model = past
    h = model.hyperparameters
    by_name = dict(zip(last.space, h.lengthscales, strict=True))
    if not set(space.names) & set(by_name):
        return None, None
    start = Hyperparameters(
        h.kernel,
        tuple(by_name.get(name, 1.0) for name in space.names),
        h.outputscale,
        h.noise,
        h.y_mean,
        h.y_scale,
        h.warp,
        space.nominal,
    )
    same = tuple(last.space) == space.names
    return start, _unpack(model.curvature, len(space) + 1) if same else None


def pack(H: Array | None) -> tuple[float, ...]:
    """Lower triangle of the inverse Hessian to three digits: good enough for a first step, small enough to store."""
    if H is None or len(H) > _MAX_CURVATURE:
        return ()
    lower = H[np.tril_indices(len(H))].tolist()
    return tuple(map(float, (" ".join(["%.3g"] * len(lower)) % tuple(lower)).split()))


def _unpack(packed: Sequence[float], size: int) -> Array | None:
    if len(packed) != size * (size + 1) // 2:
        return None
    H = np.zeros((size, size))
    H[np.tril_indices(size)] = packed
    H = H + np.tril(H, -1).T
    # Rounding can destroy positive definiteness, and then a first step could go uphill.
    return H if np.linalg.eigvalsh(H)[0] > 1e-8 else None
