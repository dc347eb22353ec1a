"""Surrogates: models that predict the loss of encoded configurations, with their uncertainty.

`RankingEnsemble` needs torch and is loaded at first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid.models.gp import GaussianProcess
from pellucid.threads import no_fork
from pellucid.words import printable

if TYPE_CHECKING:
    from pellucid.models.ranking.ensemble import RankingEnsemble

__all__ = ["GaussianProcess", "RankingEnsemble"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "RankingEnsemble":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            with no_fork:
                return import_module(f"{__name__}.ranking.ensemble").RankingEnsemble
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            raise ImportError(printable(f"{name} needs torch: `pip install 'pellucid[ranking]'`.")) from error
