"""Models of one target: each distinct one is fitted once, and shared by all answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pellucid.beliefs.evidence import NO_EFFECT, evidence, parameter_sets
from pellucid.models import GaussianProcess
from pellucid.models.plausible import plausible
from pellucid.numerics import Array, stream
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target
from pellucid.threads import cached_property

# Models with plausible hyperparameters behind an answer: more of them make intervals smoother and cost time.
N_PLAUSIBLE = 12
# With more trials the hyperparameters are known well enough, and each model would cost seconds.
_MOST_PLAUSIBLE = 1000
# Joint draws are of the fitted model alone with more trials than this, because the hyperparameters are known well, and
# with more parameters, because plausible models would cost seconds.
_MOST_TRIALS, _MOST_PARAMETERS = 500, 60
# How many times larger leave-one-out errors may be without a warp before the warp is needed: averages in the
# objective's own unit are worth a loss of accuracy. At 2.5, bands missed the average of ordinary problems.
_WORSE = 10.0


def default_template() -> GaussianProcess:
    """Kernel and warp of the default model."""
    return GaussianProcess(warp="auto")


@dataclass(frozen=True, eq=False)
class Model:
    """The best fit to the data of a target, and other fits that suit them as well, which are made when an answer asks
    for them, once, and independently for every target."""

    target: Target
    data: Arrays
    gp: GaussianProcess

    @cached_property
    def plausible(self) -> tuple[GaussianProcess, ...]:
        """Models of equal weight whose hyperparameters are drawn from their posterior: the best fit alone is too sure
        of itself, so answers that state an uncertainty are averaged over these."""
        data = self.data
        if len(data) > _MOST_PLAUSIBLE:
            return (self.gp,)
        noise = data.observations.noise_variance
        return plausible(self.gp, data.X, data.losses, noise, count=N_PLAUSIBLE, about=self.target.subject)

    @property
    def drawn(self) -> tuple[GaussianProcess, ...]:
        """Those that joint draws are made from."""
        few = len(self.data) <= _MOST_TRIALS and len(self.data.space) <= _MOST_PARAMETERS
        return self.plausible if few else (self.gp,)

    @cached_property
    def evidence(self) -> Array:
        """How much the trials speak for every parameter (d,), in nats: see `beliefs.evidence`."""
        return evidence(self.gp)

    @cached_property
    def sparse(self) -> tuple[GaussianProcess, ...]:
        """`drawn`, each without the parameters that may have no effect at all.

        An objective such as a latency often depends on few parameters, and many trials are then equal in it. No fitted
        lengthscale is infinite, so a model of all parameters sees differences between such trials, and with noise they
        are large: in joint draws they take turns at being the best. So each model leaves out what is outside the first
        k parameters of the ranking by `evidence`: as many have the same k as the chance of these being all says.
        """
        models = self.drawn
        order, chances = parameter_sets(self.gp)
        # If the trials speak for no effect at all, they do not say either which parameters have none.
        chances = np.r_[0.0, chances[1:-1], chances[-1] + chances[0]]
        places = (np.arange(len(models)) + 0.5) / len(models)
        counts = np.minimum(np.searchsorted(np.cumsum(chances), places), len(order))
        subject = f"objective {self.target.column}"
        counts = stream(0, "parameters left out", len(models), subject).permutation(counts)
        pairs = zip(models, counts.tolist(), strict=True)
        return tuple(self._without(model, order[k:].tolist()) for model, k in pairs)

    def _without(self, gp: GaussianProcess, columns: list[int]) -> GaussianProcess:
        if not columns:
            return gp
        lengthscales = list(gp.hyperparameters.lengthscales)
        for column in columns:
            lengthscales[column] = NO_EFFECT
        fewer = GaussianProcess.from_hyperparameters(replace(gp.hyperparameters, lengthscales=tuple(lengthscales)))
        return fewer.condition(self.data.X, self.data.losses, self.data.observations.noise_variance)


@dataclass(frozen=True)
class _Fit:
    """A model, and what it was fitted with: it may have been fitted with another warp, if none was chosen."""

    kernel: str
    warp: str | None
    deterministic: bool
    model: Model

    def serves(self, template: GaussianProcess, data: Arrays) -> bool:
        return self.warp == template.warp and self.begins(template, data)

    def begins(self, template: GaussianProcess, data: Arrays) -> bool:
        """Whether it is the same model except for the warp."""
        same_model = (self.kernel, self.deterministic) == (template.kernel.name, template.deterministic)
        own = self.model.data
        same_data = own.observations.numbers == data.observations.numbers and own.space == data.space
        return same_model and same_data


class Fits:
    """The fitted models of one target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._fits: list[_Fit] = []

    def model(self, data: Arrays, template: GaussianProcess | None = None) -> Model:
        """The model of data. Each distinct one is fitted once."""
        template = default_template() if template is None else template
        for fit in self._fits:
            if fit.serves(template, data):
                return fit.model
        model = self._fitted(template, data, next((f.model for f in self._fits if f.begins(template, data)), None))
        self._fits.append(_Fit(template.kernel.name, template.warp, template.deterministic, model))
        return model

    def _fitted(self, template: GaussianProcess, data: Arrays, relative: Model | None) -> Model:
        """`relative`: the model with or without a warp, where this is the other way round. They are the same if no warp
        was chosen."""
        noise = data.observations.noise_variance
        gp = template.unfitted(data.space.nominal)
        gp.learn(data.X, data.losses, noise, beginning=None if relative is None else relative.gp.beginning)
        if relative is not None and relative.gp.hyperparameters == gp.hyperparameters:
            return relative
        return Model(self._target, data, gp.condition(data.X, data.losses, noise))

    def effect_model(self, data: Arrays, template: GaussianProcess | None = None) -> tuple[Model, bool]:
        """The model that effects are read from: without an output warp if it fits about as well, because its averages
        are those of the objective. The second is whether it needed a warp, so that curves that are mapped back to the
        unit of the objective show typical values instead of averages."""
        template = default_template() if template is None else template
        plain = self.model(data, template.unwarped())
        if template.warp is None:
            return plain, False
        warped = self.model(data, template)
        if warped.gp.hyperparameters.warp is None or warped.gp.kernel.radial:
            return plain, False
        plain_errors, warped_errors = (
            np.abs(gp.from_latent(*gp.leave_one_out())[0] - data.losses) for gp in (plain.gp, warped.gp)
        )
        scale = max(float(plain_errors.max()), 1e-300)
        worse = _rms(plain_errors / scale) > _WORSE * _rms(warped_errors / scale)
        return (warped, True) if worse else (plain, False)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
