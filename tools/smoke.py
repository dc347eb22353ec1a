"""A small test of an installed pellucid: python tools/smoke.py

It needs neither pytest nor the checkout. It imports every public name, tunes a study of 12 trials with the command
`pellucid`, explains the study, and uses every extra that is installed, but for torch. It prints a digest of the
proposals of a seeded study, which has to be the same for every version of Python.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import optuna

import pellucid

N_TRIALS = 12
STORAGE = "sqlite:///pellucid.db"
LOOPBACK = "127.0.0.1"
OBJECTIVE = """
def objective(trial):
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 8)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return (depth - 5) ** 2 + abs(rate - 0.01) + (kind == "a")
"""
# The base dependencies, whose versions are printed.
BASE = ("numpy", "optuna", "rich", "scipy", "threadpoolctl", "typer")
# Packages whose public names a user imports.
PACKAGES = ("pellucid", "pellucid.acquisition", "pellucid.surrogates")


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    print(f"Python {sys.version.split()[0]}, {versions(BASE)}")
    print(f"  {load_public_names()} public names can be imported")
    with tempfile.TemporaryDirectory(prefix="pellucid-smoke-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        # Where trackers keep their files.
        for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
            os.environ[name] = folder
        Path("smoke_objective.py").write_text(OBJECTIVE)
        sys.path.insert(0, folder)
        print(f"  digest of proposals: {proposals_digest()}")
        check_commands()
        check_extras()
        os.chdir("/")
    print("  passed")


def versions(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {version(name)}" for name in names)


def load_public_names() -> int:
    """Import every public name; returns how many there are without those whose optional package is missing."""
    return sum(
        available(import_module(package), name) for package in PACKAGES for name in import_module(package).__all__
    )


def available(module: ModuleType, name: str) -> bool:
    """Whether a name can be imported; False if it needs an optional package and says which."""
    try:
        getattr(module, name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        return False
    return True


def proposals_digest() -> str:
    """Of the parameters of a seeded study, without the last digits, in which versions of NumPy differ."""
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(import_module("smoke_objective").objective, n_trials=2 * N_TRIALS)
    params = [{**trial.params, "rate": f"{trial.params['rate']:.4g}"} for trial in study.trials]
    return sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:16]


def check_commands() -> None:
    run("--version")
    run("--help")
    trials = ["--trials", str(N_TRIALS), "--seed", "0"]
    tuned = answer("tune", "smoke_objective.py:objective", *trials, "--json", "--quiet")
    check(tuned["n_trials"] == N_TRIALS, f"tune counts {tuned['n_trials']} trials")
    check_keys("tune", tuned)
    explained = answer("explain", "--json")
    check(explained["counts"]["complete"] == N_TRIALS, f"explain counts {explained['counts']}")
    check_keys("explain", explained)
    check("recommendation" in explained, "explain has no recommendation")
    check("verdict" in explained, "explain has no verdict")
    print(f"  tune and explain: recommended {explained['recommendation']['params']}")


def check_keys(command: str, data: dict[str, Any]) -> None:
    """The keys are those of the schema that is installed."""
    schema = json.loads((files("pellucid.cli") / f"{command}.schema.json").read_text(encoding="utf-8"))
    wrong = (set(data) - set(schema["properties"])) | (set(schema["required"]) - set(data))
    check(not wrong, f"{command} and its schema differ in {wrong}")


# ------------------------------------------------------------------------------------------------- extras


def check_extras() -> None:
    """Use every extra that is installed, with the study that was tuned."""
    study = optuna.load_study(study_name=None, storage=STORAGE)
    missing = []
    for extra in EXTRAS:
        try:
            numbers = versions(extra.packages)
        except PackageNotFoundError:
            missing.append(extra.name)
            continue
        print(f"  {extra.name} ({numbers}): {extra.use(study)}", flush=True)
    print(f"  not installed: {', '.join(missing) or 'none'}")


def use_plots(study: optuna.Study) -> str:
    run("report", "--quiet")
    check(len(pellucid.importance(study).to_frame()) == 3, "the frame of the importance has not one row per parameter")
    return f"a report of {Path('report.html').stat().st_size / 1e6:.1f} MB"


def use_dashboard(study: optuna.Study) -> str:
    from optuna_dashboard import get_note

    run("publish")
    check("depth" in get_note(study), "the note of the study does not name a parameter")
    return f"a note of {len(get_note(study))} characters"


def use_interactions(study: optuna.Study) -> str:
    interactions = pellucid.proposal_interactions(study, N_TRIALS - 1)
    check(len(interactions.pairs) == 3, f"{interactions.pairs} are not the pairs of three parameters")
    return f"{len(interactions.pairs)} pairs"


def use_mlflow(study: optuna.Study) -> str:
    os.environ["MLFLOW_TRACKING_URI"] = Path("mlflow").absolute().as_uri()
    # Newer versions want to be asked for a store of files.
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    from pellucid.surfaces.trackers.mlflow import log

    log(study, progress=False)
    names = sorted(path.name for path in Path("mlflow").glob("*/*/artifacts/pellucid/*"))
    check(bool(names), "the run has no artifacts")
    return f"a run with {', '.join(names)}"


def use_wandb(study: optuna.Study) -> str:
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
    from pellucid.surfaces.trackers.wandb import log

    name = log(study, progress=False)
    check(bool(list(Path("wandb").glob(f"offline-run-*-{name}"))), "there is no offline run")
    return "an offline run"


def use_mcp(study: optuna.Study) -> str:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def listed(log: TextIO) -> list[str]:
        command = ["-m", "pellucid.cli", "mcp", "--storage", STORAGE]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with Client(stdio_client(server, errlog=log)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with Path("mcp.log").open("w") as log:
        names = asyncio.run(listed(log))
    check("recommend" in " ".join(names), f"no tool of {names} recommends anything")
    return f"{len(names)} tools"


def use_notebook(study: optuna.Study) -> str:
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    code = f"import optuna, pellucid\npellucid.recommend(optuna.load_study(study_name=None, storage='{STORAGE}'))"
    notebook = new_notebook(cells=[new_code_cell(code)])
    NotebookClient(notebook, timeout=120).execute()
    pages = [output.data["text/html"] for output in notebook.cells[0].outputs if "text/html" in output.get("data", {})]
    check("depth" in "".join(pages), f"the cell shows {notebook.cells[0].outputs}")
    return "an answer as HTML"


def use_grpc(study: optuna.Study) -> str:
    port = closed_port()
    code = (
        "import optuna; from optuna.storages import *; "
        f"run_grpc_proxy_server(RDBStorage('{STORAGE}'), host='{LOOPBACK}', port={port})"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        optuna.storages.GrpcStorageProxy(host=LOOPBACK, port=port).wait_server_ready(timeout=60)
        explained = answer("explain", "--json", "--storage", f"grpc://{LOOPBACK}:{port}")
    finally:
        server.kill()
        server.wait()
    check(explained["counts"]["complete"] == N_TRIALS, f"explain counts {explained['counts']} through a proxy")
    return "explained through a proxy"


def use_dask(study: optuna.Study) -> str:
    from distributed import Client
    from optuna_integration import DaskStorage

    with Client(processes=False, n_workers=1, dashboard_address=None) as client:
        shared = optuna.create_study(storage=DaskStorage(client=client), sampler=pellucid.BayesianSampler(seed=0))
        client.submit(
            shared.optimize, import_module("smoke_objective").objective, n_trials=N_TRIALS, pure=False
        ).result()
        n = len(pellucid.receipts(shared))
    check(n > 0, "no trial of a worker has a receipt")
    return f"{n} receipts of a worker"


def use_ray(study: optuna.Study) -> str:
    from ray.tune.search.optuna import OptunaSearch

    space = study.trials[0].distributions
    sampler = pellucid.BayesianSampler(seed=0)
    storage = optuna.storages.RDBStorage("sqlite:///ray.db")
    search = OptunaSearch(dict(space), metric="loss", mode="min", sampler=sampler, storage=storage, study_name="ray")
    for number in range(N_TRIALS):
        config = search.suggest(str(number))
        search.on_trial_complete(str(number), {"loss": (config["depth"] - 5) ** 2})
    n = len(pellucid.receipts(optuna.load_study(study_name="ray", storage=storage)))
    check(n > 0, "no proposal for Ray has a receipt")
    return f"{n} receipts of proposals for Ray, without a cluster"


def use_driver(address: str) -> Callable[[optuna.Study], str]:
    """With the driver of a database, a command fails because there is no server, and not because there is no driver."""

    def use(study: optuna.Study) -> str:
        url = f"{address}://user:word@{LOOPBACK}:{closed_port()}/studies"
        said = run("explain", "--storage", url, code=2)
        check("pip install" not in said, f"with a driver, `pellucid explain --storage {url}` says {said}")
        return "the driver was loaded; there is no server"

    return use


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Extra:
    name: str
    packages: tuple[str, ...]
    use: Callable[[optuna.Study], str]


EXTRAS = (
    Extra("plots", ("pandas", "plotly"), use_plots),
    Extra("dashboard", ("optuna-dashboard", "plotly"), use_dashboard),
    Extra("interactions", ("shapiq",), use_interactions),
    Extra("mlflow", ("mlflow-skinny", "plotly"), use_mlflow),
    Extra("wandb", ("wandb", "plotly"), use_wandb),
    Extra("mcp", ("mcp",), use_mcp),
    Extra("notebook", ("ipykernel", "nbclient"), use_notebook),
    Extra("grpc", ("grpcio", "protobuf"), use_grpc),
    Extra("dask", ("distributed", "optuna-integration"), use_dask),
    Extra("ray", ("ray",), use_ray),
    Extra("postgres", ("psycopg2-binary",), use_driver("postgresql")),
    Extra("mysql", ("pymysql",), use_driver("mysql")),
)


# ------------------------------------------------------------------------------------------------- commands


def answer(*arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    data: dict[str, Any] = json.loads(run(*arguments))
    return data


def run(*arguments: str, code: int = 0) -> str:
    """What a command prints, on standard error if it has to fail. Ends this script if it ends with another code."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pellucid.cli", *arguments]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, encoding="utf-8")
    check(done.returncode == code, f"`pellucid {' '.join(arguments)}` ended with {done.returncode}:\n{done.stderr}")
    return done.stderr if code else done.stdout


def check(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"Failed: {problem}")


if __name__ == "__main__":
    main()
