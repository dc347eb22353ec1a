"""One offline file that answers the questions about a study.

`gather` computes every record once, `answers` and `page` set them as HTML, `figures` stores what is drawn, `markup`
escapes. The page carries its scripts and runs no others.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from optuna.study import Study


def report(study: Study, path: str | Path, *, progress: bool = True) -> Path:
    """Write the report of a study, whatever sampler ran it, as one HTML file that needs no network.

    Args:
        study: with one objective; empty ones say what cannot be known yet.
        path: of the file; folders that are missing are made.
        progress: show a progress bar on a terminal.
    """
    try:
        from pellucid.reporting.page import page
    except ImportError as error:
        raise ImportError("The report needs plotly: install it with `pip install 'pellucid[plots]'`.") from error
    from pellucid.reporting.gather import gather

    target = Path(path)
    if target.is_dir():
        raise ValueError(f"A report is a file, but {target} is a folder; give a name like {target / 'report.html'}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    text = page(gather(study, progress))
    # Written beside its place and moved there: a reader never sees half a page, an old one stays if writing fails.
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
