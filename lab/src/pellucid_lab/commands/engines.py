"""``pellucid bench engines``: workers share a study, on everything that connects them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import Quiet, TableFile
from pellucid_lab.terminal import command_line, names_in, progress_bar

_PACKAGES = ("pellucid", "optuna", "sqlalchemy", "psycopg2-binary", "PyMySQL", "grpcio", "distributed", "ray")


def engines(
    kinds: Annotated[str, typer.Option(help="Engines like postgres,dask, or all.")] = "all",
    samplers: Annotated[str, typer.Option(help="Like pellucid,random.")] = "random,pellucid,optuna-tpe",
    workers: Annotated[int, typer.Option(min=0, help="Workers of a study; 0: what is usual for the engine.")] = 0,
    trials: Annotated[int, typer.Option(min=0, help="Trials of a study; 0: enough for the engine.")] = 0,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("engines.jsonl"),
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid.surfaces.cli.errors import Mistake
        from pellucid_lab.engines.kinds import ENGINES
        from pellucid_lab.engines.records import EngineRun, EngineTask, record
        from pellucid_lab.engines.tables import markdown
        from pellucid_lab.methods.samplers import METHODS
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.provenance import stamp
        from pellucid_lab.tables.grids import provenance_now, show_page

        chosen = tuple(ENGINES) if kinds == "all" else names_in(kinds, "--kinds")
        for name, known, option in [
            *((name, tuple(ENGINES), "--kinds") for name in chosen),
            *((name, tuple(METHODS), "--samplers") for name in names_in(samplers, "--samplers")),
        ]:
            if name not in known:
                raise Mistake(f"{option} takes {', '.join(known)}; got `{name}`.")
        for name in chosen:
            require_modules(ENGINES[name].requires, f"the engine {name}")
        tasks = [
            EngineTask(name, sampler, workers or ENGINES[name].workers, trials or ENGINES[name].trials)
            for name in chosen
            for sampler in names_in(samplers, "--samplers")
        ]
        file = RunFile(out, EngineRun)
        missing = file.missing(tasks)
        file.prepare()
        try:
            with progress_bar("engines", len(missing), quiet) as advance:
                for task in missing:
                    work, study = ENGINES[task.engine].run(task)
                    file.append([record(task, work, study, stamp(_PACKAGES, command_line()))])
                    advance(task.label)
        except KeyboardInterrupt:
            say(f"Stopped: repeat the command to continue; finished runs are in {out}.")
            raise typer.Exit(STOPPED) from None
        show_page(markdown(file.of(tasks), provenance_now(command_line(), _PACKAGES)), table, quiet)
