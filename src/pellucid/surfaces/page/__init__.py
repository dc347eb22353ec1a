"""The report: one offline file that answers the questions about a study.

`gather` computes every answer of the catalogue once. What an answer shows is said in its own module, in the pieces of
`answers.pieces`; `sections` and `answers` put them in order, `html` and `note` write them, `figures` holds the figures,
and `markup` escapes. The page contains its scripts and runs no others. `live` renews the page of a running study, and
`server` shows it to browsers on this machine.
"""

from __future__ import annotations

from pathlib import Path

from optuna.study import Study

from pellucid.files import make_folder, write_atomically
from pellucid.threads import no_fork
from pellucid.words import printable


def report(study: Study, path: str | Path, *, progress: bool = True) -> Path:
    """Write the report of a study, whichever sampler ran it, as one HTML file that needs no network.

    Args:
        study: any study; the report of an empty one says what is not known yet.
        path: of the file; missing folders are created.
        progress: show a progress bar, on a terminal or in a notebook.
    """
    try:
        with no_fork:
            from pellucid.surfaces.page.gather import gather
            from pellucid.surfaces.page.page import page
    except ImportError as error:
        raise ImportError("The report needs plotly: install it with `pip install 'pellucid[plots]'`.") from error

    target = Path(path)
    if target.is_dir():
        raise ValueError(
            printable(f"A report is a file, but {target} is a folder; give a name like {target / 'report.html'}.")
        )
    make_folder(target.parent)
    text = page(gather(study, progress))
    write_atomically(target, text.encode())
    return target
