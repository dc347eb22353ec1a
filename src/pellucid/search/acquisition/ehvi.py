"""Expected hypervolume improvement as an acquisition: what a trial is expected to add to a front.

The volume is measured on the latent scales of the models, on which every objective has a spread of about one: so none
of them rules the others because of its unit, or because of a few trials that are much worse than all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.posterior import Posteriors
from pellucid.numerics import Array
from pellucid.pareto import front, reference_point
from pellucid.provenance import Term
from pellucid.search.acquisition.base import Acquisition, AcquisitionFunction, Effort, Outcomes, Pool, Situation
from pellucid.search.acquisition.hypervolume import log_ehvi, log_ehvi_at_most, log_ehvi_slopes
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space

# A front has as many ways to be improved as it has gaps and ends, so there are more optima than with one objective.
MANY = Effort(evaluations=6, enough=1e-3, climbs=5, everywhere=256)
# Candidates that need to be ranked: more than are scored again.
_RANKED = 64


def latent_reference(models: Sequence[GaussianProcess], point: Array, Y: Array) -> Array:
    """A reference point (k,) in the units of the losses, on the latent scale; never better than the front of the latent
    means Y (n, k), as the models see it."""
    latent = [model.to_latent(point[i : i + 1])[0] for i, model in enumerate(models)]
    return np.maximum(latent, reference_point(Y[front(Y)]))


@dataclass(frozen=True)
class EHVI(Acquisition):
    """Expected hypervolume improvement, for studies with several objectives: exact, for 2 to 4 of them."""

    log_score = True
    one_score = True

    def words(self) -> dict[str, Term]:
        return {"gain": self.score_words()}

    def score_words(self) -> Term:
        return Term("expected gain of the front", "more expected gain of the front", "prediction")

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("log", 1.0)

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        if situation.outcomes is None:
            raise ValueError("EHVI needs several objectives, but this study has one: use EI() instead.")
        return _VolumeFunction(self, model, situation, situation.outcomes)


@dataclass(frozen=True)
class _VolumeFunction(AcquisitionFunction):
    acquisition: EHVI
    model: GaussianProcess
    situation: Situation
    outcomes: Outcomes

    @property
    def effort(self) -> Effort:
        return MANY

    def weights(self) -> dict[str, float]:
        return {"gain": 1.0}

    def terms(self, X: Array) -> dict[str, Array]:
        return {"gain": self.score(X)}

    def score(self, X: Array) -> Array:
        return self._log([model.latent(X) for model in self.outcomes.models])

    @property
    def models(self) -> tuple[GaussianProcess, ...]:
        return self.outcomes.models

    def terms_from(self, posteriors: Posteriors, floor: Mapping[str, float]) -> dict[str, Array]:
        return {"gain": self.score_from(posteriors, floor["gain"])}

    def score_from(self, posteriors: Posteriors, floor: float) -> Array:
        """Most of a space is known to be at the floor from bounds on the sds and a few rows of the front: a larger sd
        has a larger gain, because what an outcome gains is convex in each objective, and so has a smaller front."""
        if floor == -np.inf:
            return self._log([(each.mean, each.sd()) for each in posteriors])
        m, s = (np.stack(part, axis=1) for part in zip(*((p.mean, p.sd_at_most()) for p in posteriors), strict=True))
        score = log_ehvi_at_most(m, self.outcomes.width * s, self.outcomes.few_boxes)
        above = score > floor
        score[above] = self._log([(each.mean[above], each.sd_where(above)) for each in posteriors])
        return score

    def screen_pool(self, pool: Pool) -> Array:
        others = (model.screen(pool.X) for model in self.outcomes.models[1:])
        return self._log([(pool.mean, pool.sd), *others], _RANKED)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        m, s, dm, ds = zip(*(model.latent_with_gradient(X) for model in self.outcomes.models), strict=True)
        width = self.outcomes.width
        score, by_m, by_s = log_ehvi_slopes(np.stack(m, axis=1), width * np.stack(s, axis=1), self.outcomes.boxes)
        slope: Array = np.zeros_like(X)
        for i in range(len(m)):
            slope += by_m[:, i, None] * dm[i] + width * by_s[:, i, None] * ds[i]
        return score, slope

    def _log(self, posteriors: list[tuple[Array, Array]], enough: int | None = None) -> Array:
        m, s = (np.stack(part, axis=1) for part in zip(*posteriors, strict=True))
        return log_ehvi(m, self.outcomes.width * s, self.outcomes.boxes, enough)
