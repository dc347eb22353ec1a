"""Clusters of Dask and of Ray on this machine, whose workers share a study."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid_lab.engines.records import N_PARAMS, SLEEP, EngineTask, Work, configuration
from pellucid_lab.engines.workers import STUDY, Address, in_memory, sampler_of, told_trial

if TYPE_CHECKING:
    from optuna.study import Study


def shared_on_dask(task: EngineTask) -> tuple[Work, Study]:
    """Every worker runs its part of the trials; the scheduler keeps the study."""
    import optuna
    from distributed import Client, LocalCluster
    from optuna_integration import DaskStorage

    with (
        LocalCluster(n_workers=task.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        storage = DaskStorage(optuna.storages.InMemoryStorage(), client=client)
        study = optuna.create_study(study_name=STUDY, storage=storage, sampler=sampler_of(task))
        shares = [len(range(i, task.trials, task.workers)) for i in range(task.workers)]
        client.run(_import)
        start = time.monotonic()
        futures = [client.submit(_share, study, share, pure=False) for share in shares]
        parts = client.gather(futures)
        seconds = time.monotonic() - start
        told = tuple(params for part in parts for params in part if params is not None)
        return Work(told, task.trials - len(told), seconds), in_memory(storage)


def _import() -> None:
    """On every worker, before the clock runs."""
    import optuna

    import pellucid

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pellucid.BayesianSampler()


def _share(study: Study, trials: int) -> list[str | None]:
    study.sampler.reseed_rng()  # All workers have got the same sampler.
    return [told_trial(study) for _ in range(trials)]


def shared_on_ray(task: EngineTask) -> tuple[Work, Study]:
    """Ray's driver proposes, and its workers run the trials."""
    import ray
    from ray import tune
    from ray.tune.search.optuna import OptunaSearch

    with tempfile.TemporaryDirectory() as folder:
        storage = Address(journal=str(Path(folder) / "study.log")).open()
        search = OptunaSearch(metric="loss", mode="min", sampler=sampler_of(task), storage=storage, study_name=STUDY)
        ray.init("local", num_cpus=task.workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            tuner = tune.Tuner(
                _loss,
                param_space={f"x{i}": tune.uniform(0.0, 1.0) for i in range(N_PARAMS)},
                tune_config=tune.TuneConfig(
                    search_alg=search,
                    num_samples=task.trials,
                    max_concurrent_trials=task.workers,
                    reuse_actors=True,
                ),
                run_config=tune.RunConfig(storage_path=str(Path(folder) / "ray"), verbose=0),
            )
            start = time.monotonic()
            results = tuner.fit()
            seconds = time.monotonic() - start
        finally:
            ray.shutdown()
        told = tuple(configuration(result.config or {}) for result in results if result.error is None)
        return Work(told, results.num_errors, seconds), in_memory(storage)


def _loss(config: dict[str, Any]) -> dict[str, float]:
    time.sleep(SLEEP)
    return {"loss": float(sum((value - 0.3) ** 2 for value in config.values()))}
