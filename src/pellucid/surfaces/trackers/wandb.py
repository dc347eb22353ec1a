"""The answers about a study as a run of Weights & Biases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from optuna.study import Study

from pellucid.files import make_folder, write_atomically
from pellucid.surfaces.trackers.contents import RunContents, missing, run_contents

# Limits of Weights & Biases, in characters: of the name of a run and of its notes.
_LONGEST_NAME, _LONGEST_NOTES = 128, 5000


def log(study: Study, *, project: str | None = None, entity: str | None = None, progress: bool = True) -> str:
    """Log the answers about a study as one run of Weights & Biases, or update that of an earlier call. Returns its id.

    Key figures are metrics, with the number of trials as their step, and in the summary; the recommended configuration
    is the config; the report and all answers are files of the run, in `pellucid`. A run that is active is left alone.
    The id is derived from the study, so that it is the same offline, where no server can be asked for an earlier run.
    Needs `pip install "pellucid[wandb]"`.

    Args:
        study: with up to four objectives and at least one complete trial.
        project: its name. By default `WANDB_PROJECT`, or "pellucid".
        entity: the user or team that owns the project; by default that of Weights & Biases.
        progress: show a progress bar, on a terminal or in a notebook.
    """
    try:
        import wandb
    except ImportError as error:
        raise missing("wandb", "wandb") from error
    contents = run_contents(study, "wandb", progress=progress)
    run = wandb.init(
        project=project or os.environ.get("WANDB_PROJECT") or "pellucid",
        entity=entity,
        id=contents.key,
        resume="allow",
        reinit="create_new",
        name=contents.name[:_LONGEST_NAME],
        notes=contents.description[:_LONGEST_NOTES],
        job_type="pellucid",
        settings=wandb.Settings(console="off", quiet=True, x_disable_stats=True),
    )
    with run:
        _write(run, contents)
    return str(run.id)


def _write(run: Any, contents: RunContents) -> None:
    run.config.update(_config(contents), allow_val_change=True)
    metrics = {_visible(name): value for name, value in contents.metrics.items()}
    # Steps only grow: a run that is resumed has had those of earlier calls.
    if contents.n_trials >= run.step:
        run.log(metrics, step=contents.n_trials)
    run.summary.update(metrics)
    folder = Path(run.dir) / "pellucid"
    make_folder(folder)
    for name, text in contents.files.items():
        write_atomically(folder / name, text.encode())
    run.save(str(folder / "*"), base_path=run.dir, policy="now")


def _config(contents: RunContents) -> dict[str, Any]:
    """The recommended configuration; None for parameters that only an earlier recommendation may have had."""
    values = {**dict.fromkeys(contents.absent), **contents.params}
    own = {"directions": contents.directions, "trials": contents.n_trials}
    return {**{_visible(name): value for name, value in values.items()}, "pellucid": own}


def _visible(name: str) -> str:
    """The name itself, unless it is taken: Weights & Biases hides entries that begin with an underscore."""
    return f"study {name}" if name == "pellucid" or name.startswith("_") else name
