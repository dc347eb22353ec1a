"""An answer that is added to the catalogue by one line is on every surface, none of which is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("optuna_dashboard")
SAID = ["The values of `objective 0` span 7. This is a toy.", "The values of `objective 1` span 70. This is a toy."]
TITLE, REASON = "How far apart values are", "A span needs three trials."


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every surface shows, by its name."""
    command = [sys.executable, "-m", "tests.answers.toy", str(tmp_path_factory.mktemp("toy"))]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout.splitlines()[-1]))


def test_the_command_line_answers_it(shown: dict[str, Any]) -> None:
    text = " ".join(shown["command line, two"].split())
    assert f"{TITLE}: {SAID[0]}" in text
    assert "span 70." in text
    assert f"{TITLE} (objective 0): {REASON}" in " ".join(shown["command line, new"].split())


def test_json_has_it_by_objective(shown: dict[str, Any]) -> None:
    found = shown["json, two"]["span"]
    assert [found[name]["width"] for name in ("objective 0", "objective 1")] == [7.0, 70.0]
    assert found["objective 0"]["notes"] == ["This is a toy."]
    assert shown["json, new"]["unknown"]["span"] == {"objective 0": REASON, "objective 1": REASON}
    schema = shown["schema"]
    assert schema["$defs"]["Span"]["properties"]["width"] == {"type": ["number", "null"]}
    assert {"$ref": "#/$defs/Span"} in schema["properties"]["span"]["anyOf"]
    assert "span" in schema["properties"]["unknown"]["properties"]


def test_agents_can_ask_it(shown: dict[str, Any]) -> None:
    assert shown["tools"]["span"] == [TITLE, "Returns how far apart the values are."]
    assert "how far apart values are" in shown["tools"]["overview"][1]
    for tool in ("span", "overview"):
        failed, text, data = shown[f"agent, {tool}, two"]
        assert not failed
        assert SAID[0] in text
        assert json.loads(data)["span"]["objective 1"]["width"] == 70.0
    assert shown["agent, span, new"] == [True, REASON]


def test_a_page_has_it_on_a_card_and_in_a_section_with_its_figure(shown: dict[str, Any]) -> None:
    html = shown["page, two"]
    _, _, card = html.partition("<h2>How far apart?</h2>")
    sentences = ["The values of <code>objective 0</code> span 7.", "The values of <code>objective 1</code> span 70."]
    assert card.startswith("".join(f"<p>{sentence}</p>" for sentence in sentences))
    for i, sentence in enumerate(sentences):
        _, _, section = html.partition(f'<section id="objective-{i}">')
        _, _, finding = section.partition("</section>")[0].partition(f"<h3>{sentence}</h3>")
        assert finding.startswith('<p class="doubt">This is a toy.</p>')
        assert f'data-figure="objective-{i}-span"' in finding
    _, _, card = shown["page, new"].partition("<h2>How far apart?</h2>")
    assert REASON in card.partition("</div>")[0]


def test_a_note_and_the_dashboard_have_it(shown: dict[str, Any]) -> None:
    text = "The values of `objective 0` span 7.\n\nThe values of `objective 1` span 70."
    assert f"## How far apart are values?\n\n{text}\n\n##" in shown["note, two"]
    assert f"## How far apart are values?\n\nNot known yet. {REASON}" in shown["note, new"]
    assert [finding for finding in shown["dashboard"] if "span" in finding] == [
        "The values of `objective 0` span 7.",
        "The values of `objective 1` span 70.",
    ]


def test_it_has_a_figure(shown: dict[str, Any]) -> None:
    assert shown["figure"].startswith("The values of <b>objective 1</b> span 70.<br>")
    assert "This is a toy." in shown["figure"]


def test_a_tracker_has_its_figures_sentences_and_file(shown: dict[str, Any]) -> None:
    run = shown["tracker"]
    assert [run["metrics"][f"span/objective {i}/width"] for i in range(2)] == [7.0, 70.0]
    assert f"## {TITLE}\n\nThe values of" in run["description"]
    assert json.loads(run["files"]["span.json"])["objective 1"]["width"] == 70.0


def test_python_has_it(shown: dict[str, Any]) -> None:
    assert {"span", "Span"} <= set(shown["names"])
    assert "from tests.answers.toy import Span, span" in shown["stub"]
    assert shown["python"] == SAID[1]
    assert "span 70." in shown["notebook"]


def test_golden_studies_ask_it(shown: dict[str, Any]) -> None:
    assert shown["golden questions"][-1] == "span"


def test_pages_list_it(shown: dict[str, Any]) -> None:
    assert f"## {TITLE}\n\n::: pellucid.span\n\n::: pellucid.Span" in shown["reference"]
    assert "| How far apart are the values? | `span(study)` | [use](use.md) |" in shown["questions"]
    assert "| `span` | How far apart are the values? | without options |" in shown["keys"]
