"""Write the public names for type checkers, and where pages list answers: python tools/api.py

Run it after an answer or a public name was added. A test fails if a file is not up to date.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pellucid

ROOT = Path(__file__).parent.parent
STUB = "src/pellucid/__init__.pyi"
WIDTH = 120


def stub() -> str:
    """The public names with their types, and no others."""
    names = defaultdict(list)
    for name in pellucid.__all__:
        value = getattr(pellucid, name)
        names["pellucid" if isinstance(value, ModuleType) else value.__module__].append(name)
    imports = "\n".join(_import(module, of_module) for module, of_module in sorted(names.items()))
    listed = "\n".join(f'    "{name}",' for name in pellucid.__all__)
    return f"# Written by `python tools/api.py`.\n{imports}\n\n__version__: str\n__all__ = [\n{listed}\n]\n"


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def files() -> dict[str, str]:
    """What this command writes, by the path in the repository."""
    return {STUB: stub()}


def main() -> None:
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
