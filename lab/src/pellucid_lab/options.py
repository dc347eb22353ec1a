"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the tables as JSON on standard output.")]
Data = Annotated[str | None, typer.Option(help="Folder with the data files; default: $PELLUCID_DATA.")]
Figures = Annotated[bool, typer.Option(help="Draw the figures (needs the plots extra).")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes, one thread each.")]
Out = Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only: no progress bar and no tables.")]
TableFile = Annotated[Path | None, typer.Option("--table", help="Write the tables as Markdown to this file.")]
