"""A model of learning curves: where a curve that was reported in part will end."""

from pellucid.models.curves.forecast import Forecast
from pellucid.models.curves.model import FEWEST_COMPLETE, CurveModel, curve_model

__all__ = ["FEWEST_COMPLETE", "CurveModel", "Forecast", "curve_model"]
