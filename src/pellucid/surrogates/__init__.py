"""Surrogates: arrays of encoded configurations and losses in, posteriors out."""

from pellucid.surrogates.gp import GaussianProcess

__all__ = ["GaussianProcess"]
