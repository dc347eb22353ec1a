"""Surrogates: arrays of encoded configurations and losses in, posteriors out.

Those that need torch are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid.surrogates.gp import GaussianProcess

if TYPE_CHECKING:
    from pellucid.surrogates.ranking.deep_ensemble import DeepEnsemble
    from pellucid.surrogates.ranking.deep_kernel import DeepKernelGP
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.rgpe import RGPE

__all__ = ["RGPE", "DeepEnsemble", "DeepKernelGP", "GaussianProcess", "RankingEnsemble"]

_HOMES = {"RGPE": "rgpe", "DeepEnsemble": "deep_ensemble", "DeepKernelGP": "deep_kernel", "RankingEnsemble": "ensemble"}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{__name__}.ranking.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            raise ImportError(f"{name} needs torch: `pip install 'pellucid[ranking]'`.") from error
