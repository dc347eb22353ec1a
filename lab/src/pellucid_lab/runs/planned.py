"""Run the jobs of a plan that its file lacks, with a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from pellucid.cli.terminal import STOPPED, say
from pellucid_lab.base import Job
from pellucid_lab.runs.results import Failure
from pellucid_lab.runs.runner import pending, run_jobs
from pellucid_lab.terminal import progress_bar


def run_planned(planned: Sequence[Job], out: Path, processes: int, quiet: bool) -> list[Failure]:
    """Run what the file lacks, with a bar; what failed is returned. Ctrl-C ends the command with a sentence."""
    left = pending(planned, out)
    if len(left) < len(planned) and not quiet:
        say(f"{len(planned) - len(left)} of {len(planned)} runs are already in {out}.")
    failures = []
    done = 0
    try:
        with progress_bar("runs", len(left), quiet) as advance:
            for record in run_jobs(left, out, processes):
                done += 1
                advance(f"{record.problem} {record.method}")
                if isinstance(record, Failure):
                    failures.append(record)
    except KeyboardInterrupt:
        say(f"Stopped: {done} of {len(left)} runs were added to {out}; the same command continues.")
        raise typer.Exit(STOPPED) from None
    return failures
