"""Where data files are: in the folder that `--data` names, or in the one of the environment variable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pellucid.surfaces.cli.errors import Unavailable

DATA_VARIABLE = "PELLUCID_DATA"


def data_folder(data: str | None) -> Path | None:
    """The folder that was passed, or that of the environment variable; None if neither is set."""
    chosen = data or os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else None


def find_data(what: str, data: str | None, subfolders: Sequence[str], files: Sequence[str], source: str) -> Path:
    """The first of the subfolders of the data folder that has all the files; raises `Unavailable` if none has.

    ``source`` says, in a few words, where to get the files.
    """
    root = data_folder(data)
    for folder in () if root is None else (root / name for name in subfolders):
        if all((folder / file).is_file() for file in files):
            return folder
    listed = " and ".join([", ".join(files[:-1]), files[-1]]) if len(files) > 1 else files[0]
    reason = "no data folder is set" if root is None else f"{root} does not have it"
    raise Unavailable(
        f"{what} is skipped: it needs {listed}, but {reason}; get {source} and pass --data DIR or set "
        f"{DATA_VARIABLE}=DIR."
    )
