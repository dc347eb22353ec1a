"""The answers about a study as a run of MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from optuna.study import Study

from pellucid.surfaces.trackers.contents import RunContents, missing, run_contents
from pellucid.words import printable

# Tags by which a run is found again, and that say for how many trials it was logged.
_KEY, _TRIALS = "pellucid.study", "pellucid.trials"
_RECOMMENDED, _DESCRIPTION = "recommended/", "mlflow.note.content"
# The shortest limits of MLflow's versions, in characters: of the value of a param, of a tag, and of the name of a run.
_LONGEST_PARAM, _LONGEST_TAG, _LONGEST_NAME = 500, 5000, 250
# Tags or params in one request.
_MOST = 100


def log(study: Study, *, experiment: str | None = None, final: bool = False, progress: bool = True) -> str:
    """Log the answers about a study as one run of MLflow, or update the run of an earlier call. Returns the run's id.

    Key figures are metrics, with the number of trials as their step; the recommended configuration is in tags
    `recommended/...`; the report and all answers are artifacts. Uses the tracking URI of MLflow, and leaves a run that
    is active alone. Needs `pip install "pellucid[mlflow]"`.

    Args:
        study: with up to four objectives and at least one complete trial.
        experiment: its name; created if it does not exist. By default `MLFLOW_EXPERIMENT_NAME`, or "pellucid".
        final: the search has ended, so log the recommended configuration as params too. MLflow never lets a param
            change, and without this the recommendation may.
        progress: show a progress bar, on a terminal or in a notebook.
    """
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise missing("mlflow", "mlflow-skinny") from error
    contents = run_contents(study, "mlflow", progress=progress)
    client = MlflowClient()
    run = _run(client, experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "pellucid", contents)
    params = {name: str(value)[:_LONGEST_PARAM] for name, value in contents.params.items()}
    _check_params(run, params, contents.absent)
    _write(client, run, contents, params if final else {})
    return str(run.info.run_id)


def _run(client: Any, experiment: str, contents: RunContents) -> Any:
    """The run of the study, or a new one."""
    found = client.get_experiment_by_name(experiment)
    if found is not None and found.lifecycle_stage == "deleted":
        raise ValueError(
            printable(
                f"A run needs an experiment that exists, but {experiment!r} was deleted: restore it with `mlflow "
                f"experiments restore --experiment-id {found.experiment_id}`, or give another name as `experiment`."
            )
        )
    number = client.create_experiment(experiment) if found is None else found.experiment_id
    # The oldest, should two processes have created one each at the same moment.
    order = ["attributes.start_time ASC"]
    runs = client.search_runs([number], f"tags.`{_KEY}` = '{contents.key}'", order_by=order, max_results=1)
    if runs:
        return runs[0]
    return client.create_run(number, tags={_KEY: contents.key}, run_name=contents.name[:_LONGEST_NAME])


def _check_params(run: Any, params: dict[str, str], absent: tuple[str, ...]) -> None:
    """Raises ValueError if the run has params of the study that are not recommended any more: they would mislead."""
    logged = {name: value for name, value in run.data.params.items() if name in params or name in absent}
    if logged and logged != params:
        changed = next(name for name in {**logged, **params} if logged.get(name) != params.get(name))
        raise ValueError(
            printable(
                f"MLflow does not let params change, but run {run.info.run_id} was logged with `final=True`, and the "
                f"recommended `{changed}` is now {params.get(changed, 'absent')} instead of "
                f"{logged.get(changed, 'absent')}: delete that run, then log the study again."
            )
        )


def _write(client: Any, run: Any, contents: RunContents, params: dict[str, str]) -> None:
    from mlflow.entities import Metric, Param, RunTag

    run_id, tags = run.info.run_id, _tags(contents)
    now = time.time_ns() // 1_000_000
    # A second point with the same step and value would say nothing new.
    known = run.data.metrics if run.data.tags.get(_TRIALS) == str(contents.n_trials) else {}
    new = {name: value for name, value in contents.metrics.items() if known.get(name) != value}
    metrics = [Metric(name, value, now, contents.n_trials) for name, value in new.items()]
    client.log_batch(run_id, metrics=metrics)
    for part in _parts([Param(*param) for param in params.items()]):
        client.log_batch(run_id, params=part)
    for part in _parts([RunTag(*tag) for tag in tags.items()]):
        client.log_batch(run_id, tags=part)
    for name in run.data.tags:
        if name.startswith(_RECOMMENDED) and name not in tags:
            client.delete_tag(run_id, name)
    with TemporaryDirectory() as folder:
        for name, text in contents.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        client.log_artifacts(run_id, folder, artifact_path="pellucid")
    client.set_terminated(run_id)


def _tags(contents: RunContents) -> dict[str, str]:
    texts = {
        _TRIALS: str(contents.n_trials),
        _DESCRIPTION: contents.description,
        **{f"direction/{name}": direction for name, direction in contents.directions.items()},
        **{f"{_RECOMMENDED}{name}": str(value) for name, value in contents.params.items()},
    }
    return {name: text[:_LONGEST_TAG] for name, text in texts.items()}


def _parts(entries: list[Any]) -> Iterator[list[Any]]:
    return (entries[first : first + _MOST] for first in range(0, len(entries), _MOST))
