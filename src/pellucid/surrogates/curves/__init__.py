"""A model of learning curves: where a curve that was reported in part will end."""

from pellucid.surrogates.curves.extrapolation import as_recorded, curve_state, extrapolated
from pellucid.surrogates.curves.forecast import Forecast
from pellucid.surrogates.curves.model import FEWEST_COMPLETE, CurveModel, curve_model

__all__ = ["FEWEST_COMPLETE", "CurveModel", "Forecast", "as_recorded", "curve_model", "curve_state", "extrapolated"]
