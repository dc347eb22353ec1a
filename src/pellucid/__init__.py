"""pellucid: hyperparameter optimisation you can see through, on top of Optuna."""

from pellucid import acquisition, surrogates
from pellucid.acquisition.interleave import Interleave
from pellucid.explain.dependence import partial_dependence
from pellucid.explain.model import Rebuilt, rebuild, recommend
from pellucid.records import PartialDependence, Receipt, Recommendation, StoppingVerdict
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.stopping import StopWhen, stopping_verdict
from pellucid.space.study_io import NOISE_ATTRIBUTE, receipts

__version__ = "0.1.0"

__all__ = [
    "NOISE_ATTRIBUTE",
    "BayesianSampler",
    "Interleave",
    "PartialDependence",
    "Rebuilt",
    "Receipt",
    "Recommendation",
    "StopWhen",
    "StoppingVerdict",
    "acquisition",
    "partial_dependence",
    "rebuild",
    "receipts",
    "recommend",
    "stopping_verdict",
    "surrogates",
]
