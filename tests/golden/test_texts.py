"""What people read about fifteen studies is what was recorded, but for numbers: no sentence changes unnoticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.golden.masks import NAMES, changes, masked, part, text_file, write_text
from tests.golden.studies import STUDIES
from tests.golden.surfaces import SERVER, Outline, keys
from tests.helpers import ROOT

ALL = (*NAMES, SERVER)
N_GROUPS = 2


@pytest.mark.pages
@pytest.mark.parametrize("group", range(N_GROUPS))
def test_page_note_figures_commands_and_server_say_what_was_recorded(group: int) -> None:
    command = [sys.executable, "-m", "tests.golden.surfaces", "--check", *ALL[group::N_GROUPS]]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 with differences" in done.stdout


def test_there_is_a_file_for_every_study_and_no_other() -> None:
    assert set(NAMES) <= set(STUDIES)
    files = {path for folder in ("answers", "surfaces") for path in text_file(folder, "any").parent.iterdir()}
    assert files == {text_file("answers", name) for name in NAMES} | {text_file("surfaces", name) for name in ALL}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use x=0.25, n=3 (trial 7):\n expect -1.5e-3", "Use x=#, n=# (trial #): expect #"),
        ("trials 3, 5 and 8 of 1,000", "trials # of #"),
        ("from 0.1 to 0.2, 0.3 to 0.4 and 0.5 to 0.6", "from # to #"),
        ("2026-01-02 03:04", "#-#-# #:#"),
        ("objective 0: 95% of p-values", "objective #: #% of p-values"),
    ],
)
def test_numbers_and_lists_of_them_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_a_changed_word_a_lost_note_and_a_new_section_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "flat.txt"
    golden = [*part("page, section stop", ["Probably. At most 3 are left.", "A note."]), *part("page, section why")]
    write_text(path, golden)
    assert golden[1] == "    Probably. At most # are left."
    assert changes(path, golden, exact=True) == []
    for present in (
        [golden[0], "    Likely. At most # are left.", *golden[2:]],
        [*golden[:2], *golden[3:]],
        [*golden, "page, section new"],
    ):
        assert len(changes(path, present, exact=True)) > 0
        assert len(changes(path, present, exact=False)) > 0


def test_where_a_processor_rounds_otherwise_few_sentences_may_be_others(tmp_path: Path) -> None:
    path = tmp_path / "flat.txt"
    golden = part("page, section stop", [f"An{'other' * i} sentence." for i in range(60)])
    write_text(path, golden)
    others = [f"{line} Otherwise." for line in golden]
    assert changes(path, [*golden[:-3], *others[-3:]], exact=False) == []
    assert len(changes(path, [*golden[:-4], *others[-4:]], exact=False)) > 0
    assert len(changes(path, [*golden[:-1], others[-1]], exact=True)) > 0
    assert len(changes(path, golden[1:], exact=False)) > 0


def test_the_outline_of_a_page_has_its_texts_by_section_and_no_script() -> None:
    outline = Outline()
    outline.feed(
        "<main><section id='stop'><h2>Can I <code>stop</code></h2><script>no()</script><p>Yes.</p></section>"
        "<section id='why'><input placeholder='Filter'><p>No</section></main>"
    )
    texts = [(name, [text for text in texts if text]) for name, texts in outline.sections]
    assert texts == [
        ("head", []),
        ("main", []),
        ("section stop", ["Can I stop", "Yes."]),
        ("section why", ["[placeholder] Filter", "No"]),
    ]


def test_keys_are_listed_once_by_their_paths() -> None:
    data = {"a": [{"b": 1}, {"b": 2, "c": []}], "d": {"0": 1.5}}
    assert keys(data) == ["a", "a[]", "a[].b", "a[].c", "d", "d.#"]
