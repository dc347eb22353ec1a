"""The documented path of the models that users can name. They live in `pellucid.models`."""

from typing import TYPE_CHECKING, Any

from pellucid.models import GaussianProcess

if TYPE_CHECKING:
    from pellucid.models import RankingEnsemble

__all__ = ["GaussianProcess", "RankingEnsemble"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "RankingEnsemble":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pellucid import models

        return models.RankingEnsemble
