"""What `pellucid tune --json` prints has the documented schema, however the run ends."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tune.scripts import LOG, tune

from pellucid.surfaces.cli.tune.run import EndReason

pytestmark = pytest.mark.usefixtures("copied_workers")
jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((files("pellucid.cli") / "tune.schema.json").read_text(encoding="utf-8"))
SEVERAL = ("--direction", "minimize", "--direction", "maximize")


def tuned(function: str, n: int, *options: str, code: int = 0) -> dict[str, Any]:
    result = tune(function, n, "--storage", LOG, "--seed", "0", "--json", *options)
    assert result.exit_code == code, result.output
    data: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return data


@pytest.mark.parametrize(
    ("function", "n", "options", "code", "ended", "known"),
    [
        ("bowl", 12, ("--report", "report.html"), 0, "done", {"best", "recommendation", "verdict", "report"}),
        ("both", 8, SEVERAL, 0, "done", {"front", "recommendation", "verdict"}),
        ("worse_and_worse", 9, ("--pruner", "curve"), 0, "done", {"best", "recommendation", "verdict", "pruning"}),
        ("stops", 5, (), 0, "by the objective", {"best", "recommendation", "verdict"}),
        ("always", 6, (), 1, "failing", set()),
    ],
)
def test_the_summary_has_the_schema(
    folder: Path, function: str, n: int, options: tuple[str, ...], code: int, ended: str, known: set[str]
) -> None:
    data = tuned(function, n, *options, code=code)
    jsonschema.validate(data, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert (data["ended"], data["wanted"]) == (ended, n)
    optional = {"best", "front", "recommendation", "verdict", "pruning", "report"}
    assert {key for key in optional if data.get(key)} == known


def test_the_schema_notices_what_is_wrong(folder: Path) -> None:
    data = tuned("bowl", 2)
    for wrong in (
        {key: value for key, value in data.items() if key != "best"},
        {**data, "surplus": 1},
        {**data, "ended": "somehow"},
        {**data, "best": {"value": 1.0}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_the_page_names_every_end(repository: Path) -> None:
    page = (repository / "docs" / "json.md").read_text(encoding="utf-8")
    assert [reason.value for reason in EndReason if f"| `{reason.value}` |" not in page] == []
