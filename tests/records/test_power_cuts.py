"""Whenever the power is cut while a file is written, there is the old file or the new one, and afterwards the new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers import bowl, new_study, random_model
from tests.records.recorder import Operation, Recorder, after_power_cut

import pellucid
from pellucid.files import make_folder, write_atomically
from pellucid.provenance import Receipt

OLD = b"the old file"
Write = Callable[[Path], object]


def report(path: Path) -> None:
    pytest.importorskip("plotly")
    study = new_study()
    study.optimize(bowl, n_trials=5)
    pellucid.report(study, path, progress=False)


def model(path: Path) -> None:
    pytest.importorskip("torch")
    pellucid.RankingSampler(model=random_model(bowl)).save(path)


def receipt(path: Path) -> None:
    study = new_study()
    study.optimize(bowl, n_trials=5)
    write_atomically(path, pellucid.receipts(study)[-1].to_json().encode())


def figure(path: Path) -> None:
    pytest.importorskip("plotly")
    from plotly.graph_objects import Figure

    from pellucid.answers import drawing as plots

    plots.save(Figure(), path.with_suffix(".html"))


def recorded(write: Write, path: Path, old: bytes | None, monkeypatch: pytest.MonkeyPatch) -> list[Operation]:
    if old is not None:
        path.write_bytes(old)
    recorder = Recorder(path.parent)
    with monkeypatch.context() as patch:
        recorder.install(patch)
        write(path)
    return recorder.operations


@pytest.mark.parametrize("old", [None, OLD], ids=["new", "replaced"])
@pytest.mark.parametrize("write", [report, model, receipt, figure])
def test_a_file_is_the_old_or_the_new_one_after_every_operation(
    write: Write, old: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.html"
    operations = recorded(write, path, old, monkeypatch)
    new = path.read_bytes()
    assert b"".join(operation.data for operation in operations) == new, "something was written that was not recorded"
    n_states = 0
    for n in range(len(operations) + 1):
        for content in after_power_cut(operations[:n], path.name, old):
            n_states += 1
            assert content in (old, new), f"{len(content or b'')} of {len(new)} bytes after {operations[n - 1].kind}"
    assert set(after_power_cut(operations, path.name, old)) == {new}
    print(f"{write.__name__}: {len(operations) + 1} power cuts, {n_states} states of the disk")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_exported_receipt_can_be_read_again(tmp_path: Path) -> None:
    receipt(tmp_path / "receipt.json")
    assert Receipt.from_json((tmp_path / "receipt.json").read_text(encoding="utf-8")).trial == 4


@pytest.mark.parametrize("missing", ["fsync", "sync"])
def test_the_test_notices_what_is_not_waited_for(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `fsync` of the file it may be empty; without that of the folder, the old one may come back."""
    path = tmp_path / "file.html"
    operations = recorded(lambda path: write_atomically(path, b"new"), path, OLD, monkeypatch)
    kept = [operation for operation in operations if operation.kind != missing]
    assert len(kept) < len(operations)
    assert set(after_power_cut(kept, path.name, OLD)) > {b"new"}


def test_new_folders_are_on_the_disk_before_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    recorder.install(monkeypatch)
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert [operation.kind for operation in recorder.operations] == ["sync"]
    make_folder(tmp_path / "a" / "b")
    assert len(recorder.operations) == 1
