"""Reports for an agent: one file per study, never outside of the folder of the session."""

from __future__ import annotations

import re
from hashlib import sha256

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.mcp.session import Returned, Session
from pellucid.surfaces.cli.report import check_report, write_report
from pellucid.words import printable

# Characters of a study's name that the name of its report repeats; file systems allow about 255.
_LONGEST = 60


def report(session: Session, study: str | None) -> Returned:
    """Write the report of a study into the folder of the session, over an earlier one."""
    with session.study(study) as opened:
        path = session.reports / file_name(opened.study_name)
        # A link in the folder could lead out of it, and reports are written through links.
        if path.is_symlink():
            raise Mistake(f"A report is not written over a link; remove `{path}`.")
        check_report(path)
        write_report(opened, path, quiet=True)
        name = opened.study_name
    until = " It is removed when this server ends, so copy it to keep it." if session.temporary else ""
    return Returned(
        f"The report of study `{printable(name)}` is in {printable(str(path))}.{until}",
        {"study": name, "path": str(path), "temporary": session.temporary},
    )


def file_name(study: str) -> str:
    """A name that every file system takes. The digits keep studies apart whose names look the same without signs."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", study)[:_LONGEST].strip("-")
    digits = sha256(study.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"report-{readable}-{digits}.html" if readable else f"report-{digits}.html"
