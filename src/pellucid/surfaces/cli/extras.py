"""Optional packages that a command needs, checked before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from pellucid.surfaces.cli.errors import Unavailable


def require_extra(extra: str, packages: Sequence[str], what: str) -> None:
    """Raise Unavailable if one of the packages is missing. `extra`: the extra of pellucid that installs them; `what`:
    what needs them, to begin the message."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise Unavailable(
            f"{what} needs {' and '.join(missing)}, which {verb} not installed: run `pip install 'pellucid[{extra}]'`."
        )


def require_plots(what: str) -> None:
    require_extra("plots", ["plotly"], what)


def require_ranking(what: str) -> None:
    require_extra("ranking", ["torch", "safetensors"], what)


def require_mcp(what: str) -> None:
    require_extra("mcp", ["mcp"], what)
