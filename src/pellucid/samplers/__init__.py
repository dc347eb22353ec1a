"""Samplers: what Optuna asks for the next configuration."""

from pellucid.samplers.bayesian import BayesianSampler

__all__ = ["BayesianSampler"]
