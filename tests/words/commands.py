"""The command line with hostile arguments, and about hostile studies: in this process."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.words import studies as made
from tests.words.recorder import Recorder, name
from tests.words.studies import COST, DEPTH, FIXED, LIMIT, LOSS, LR, OPT
from typer.testing import CliRunner

from pellucid.surfaces.cli.app import application

HOSTILE = name("given")
# Names of files and arguments of processes hold neither of these.
FILE = HOSTILE.replace("/", " ").replace("\0", "")[:60]
TARGET = """
import sys
def objective(trial): return trial.suggest_float("x", 0, 1)
class Kind: ...
number = 3
"""


class Commands:
    def __init__(self, recorder: Recorder, folder: Path) -> None:
        self._recorder, self.folder = recorder, folder
        self._runner = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"})

    def run(self, *arguments: object, **environment: str) -> None:
        """Run a command and look at all that it prints."""
        given = [str(argument) for argument in arguments]
        result = self._runner.invoke(application(), given, env=environment)
        self._recorder.hear(result.output, f"pellucid {' '.join(given)[:80]!r}")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            self._recorder.caught(result.exception)
            self._recorder.faults.append(f"{given}: {result.exception!r}")


def stored(folder: Path, role: str, studies: Sequence[Study]) -> str:
    """The URL of a storage with copies of studies."""
    url = f"sqlite:///{folder}/{role}.db"
    for study in studies:
        storage = study._storage
        optuna.copy_study(from_study_name=study.study_name, from_storage=storage, to_storage=url)
    return url


def drive_explain(recorder: Recorder, folder: Path, studies: Sequence[Study]) -> None:
    commands = Commands(recorder, folder)
    ours, drawn, two, pruned, _ = studies
    all_ = stored(folder, "all", studies)
    one = stored(folder, "one", [ours])
    for study in studies:
        commands.run("explain", study.study_name, "--storage", all_)
        commands.run("explain", study.study_name, "--storage", all_, "--json")
    on_one: tuple[tuple[object, ...], ...] = (
        ("--param", "zz"), ("--param", HOSTILE), ("--param", LR), ("--param", OPT), ("--param", FIXED),
        ("--param", LR, "--param", DEPTH), ("--param", LR, "--param", LR), ("--param", LR, "--param", HOSTILE),
        ("--param", "a", "--param", "b", "--param", HOSTILE), ("--trial", 11), ("--trial", 0), ("--trial", 99),
        ("--trial", HOSTILE), ("--goal", HOSTILE), ("--goal", "best"), ("--goal", "front"), ("--objective", HOSTILE),
        ("--objective", LIMIT), ("--objective", LOSS), ("--objective", 7), ("--goal", "front", "--objective", LOSS),
        ("--goal", "failed", "--objective", LIMIT), (f"--{HOSTILE}",), (HOSTILE,), (HOSTILE, HOSTILE),
        ("--study", HOSTILE), (HOSTILE, "--study", "x"), ("--json", "--param", HOSTILE),
    )  # fmt: skip
    for options in on_one:
        commands.run("explain", "--storage", one, *options)
    commands.run("explain", "--storage", all_)
    commands.run("explain", "--storage", all_, drawn.study_name, "--goal", "failed")
    commands.run("explain", "--storage", all_, pruned.study_name, "--trial", 13)
    commands.run("explain", "--storage", all_, two.study_name, "--objective", COST, "--param", LR)
    commands.run("explain", "--storage", stored(folder, "bare", [made.new("bare")]))
    for command in (HOSTILE, f"--{HOSTILE}", "--version", "--help"):
        commands.run(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pellucid.surfaces.cli.explain.requested", _broken)
        commands.run("explain", "--storage", one, "--trial", 1)


def _broken(*_: object) -> None:
    raise RuntimeError(HOSTILE)


def drive_reports(recorder: Recorder, folder: Path, study: Study, bare: Study) -> None:
    commands = Commands(recorder, folder)
    url, empty = stored(folder, "reported", [study]), stored(folder, "unreported", [bare])
    (folder / FILE).mkdir(exist_ok=True)
    commands.run("report", "--storage", url, "--out", folder / f"{FILE}.html")
    paths = (folder / FILE, folder / f"missing{FILE}" / "x.html", folder / (FILE + "x" * 300))
    for path in paths:
        commands.run("report", "--storage", url, "--out", path)
        commands.run("meta-train", "--storage", url, "--out", path)
    commands.run("report", "--storage", url, "--serve", "--out", folder / FILE)
    commands.run("report", "--storage", url, "--port", 80)
    commands.run("report", "--storage", url, "--port", HOSTILE)
    commands.run("report", "--storage", empty, "--out", folder / "x.html")
    commands.run("publish", "--storage", url)
    commands.run("publish", "--storage", empty)
    commands.run("publish", HOSTILE, "--storage", url)
    five = stored(folder, "five", [made.of_five()])
    commands.run("publish", "--storage", five)
    commands.run("report", "--storage", five, "--out", folder / "five.html")
    optuna.storages.RDBStorage(f"sqlite:///{folder}/none.db")
    commands.run("explain", "--storage", f"sqlite:///{folder}/none.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pellucid.surfaces.cli.mcp.server.serve", lambda _: None)
        patch.setattr("pellucid.surfaces.cli.mcp.command._end_on_signals", lambda _: None)
        commands.run("mcp", "--storage", url)
    learned = stored(folder, "learned", [made.run(made.new(f"of {i}"), made.one, 12) for i in range(3)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pellucid.study.earlier_studies.steps_for", lambda _: 3)
        commands.run("meta-train", "--storage", learned, "--out", folder / f"learned{FILE}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pellucid.surfaces.cli.meta_train.NamedTemporaryFile", _full)
        commands.run("meta-train", "--storage", learned, "--out", folder / f"full{FILE}")
    for pattern in (HOSTILE, f"*{FILE}*", "*"):
        commands.run("meta-train", "--study", pattern, "--storage", url, "--out", folder / "model")
    sealed = folder / f"sealed{FILE}"
    sealed.symlink_to(sealed)
    commands.run("meta-train", "--storage", url, "--out", sealed)
    commands.run("report", "--storage", url, "--out", sealed)
    commands.run("mcp", "--storage", url, "--reports", folder / f"none{FILE}")
    commands.run("mcp", "--storage", HOSTILE)
    from pellucid.surfaces.cli import extras

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extras, "find_spec", lambda *_: None)
        recorder.attempt(lambda: extras.require_extra("plots", [HOSTILE], HOSTILE))
    _serve(recorder, study, url)


def _serve(recorder: Recorder, study: Study, url: str) -> None:
    """A server that cannot open its port, one that ends at once, and what it says of errors."""
    from pellucid.surfaces.cli import serving
    from pellucid.surfaces.cli.storage.places import place_of

    place = place_of(url)
    for port in (80, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pellucid.surfaces.page.server.serving", _refused)
            recorder.attempt(lambda port=port: serving.serve_report(study, place, port, port is None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "StopSignals", lambda: SimpleNamespace(count=1, counting=nullcontext))
        patch.setattr(serving.os, "_exit", lambda _: None)
        patch.setattr(serving.sys.stderr, "isatty", lambda: True, raising=False)
        recorder.attempt(lambda: serving.serve_report(study, place, 0, False))
    from pellucid.surfaces.page.server import _Server

    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError:
        _Server.handle_error(None, None, None)  # type: ignore[arg-type]
    for error in (KeyError(HOSTILE), RuntimeError(HOSTILE), OSError(5, HOSTILE, HOSTILE), sqlite3.Error(HOSTILE)):
        recorder.hear(serving.sentence_about(error, place), "sentence about an error")
    with pytest.MonkeyPatch.context() as patch, serving._choose_display(False) as display:
        problem = SimpleNamespace(since=0, sentence=HOSTILE)
        display.show(SimpleNamespace(problem=problem, page=None))  # type: ignore[arg-type]
        patch.setattr(serving.sys.stderr, "isatty", lambda: True, raising=False)
        with serving._choose_display(False) as lively:
            lively.show(SimpleNamespace(problem=problem, page=None))  # type: ignore[arg-type]
    five = made.of_five()
    recorder.attempt(lambda: serving.serve_report(five, place, 0, False))


def _full(**_: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def _refused(*_: object) -> Any:
    raise OSError(errno.EADDRINUSE, "Address already in use")


def drive_storages(recorder: Recorder, folder: Path) -> None:
    """Addresses that name nothing, something else, or a server that does not answer."""
    commands = Commands(recorder, folder)
    text, journal, database = folder / f"{FILE}.txt", folder / f"{FILE}.log", folder / f"{FILE}.db"
    text.write_text(HOSTILE)
    journal.write_text('{"op_code": 99}\n')
    database.write_text(HOSTILE)
    sound = folder / f"sound{FILE}.db"
    with sqlite3.connect(sound) as connection:
        connection.execute(f'CREATE TABLE "{FILE[:3]}x" (a)')
    newer = folder / f"newer{FILE}.db"
    optuna.create_study(study_name=HOSTILE, storage=f"sqlite:///{folder}/newer.db")
    with sqlite3.connect(folder / "newer.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'v9.9.9.a'")
        connection.execute("UPDATE version_info SET schema_version = 99")
    (folder / "newer.db").rename(newer)
    torn = folder / f"torn{FILE}.db"
    torn.write_bytes(sound.read_bytes()[:100] + b"\xff" * 4000)
    pipe = folder / f"pipe{FILE}"
    os.mkfifo(pipe)
    addresses: tuple[object, ...] = (
        HOSTILE, "", " ", f"sqlite:{HOSTILE}", f"sqlite:/{HOSTILE}", f"sqlite:///:memory:{HOSTILE}", "sqlite://",
        f"sqlite:///{folder}/{FILE}x/y.db", f"sqlite:///{database}", f"sqlite:///{sound}", f"sqlite:///{torn}",
        f"sqlite:///{newer}", f"sqlite:///{folder}", f"sqlite:///{pipe}", f"sqlite:///{folder}/none{FILE}.db",
        "sqlite:///:memory:", text, journal, database, sound, newer, folder, pipe, folder / f"none{FILE}",
        folder / f"none{FILE}.log", f"~{FILE}/x.log", f"postgresql://u:p@h@{FILE}/d", f"{FILE}://h/d", "foo://h/x",
        f"grpc://{FILE}", "grpc://localhost:1/x", "grpc://127.0.0.1:1", f"postgresql://u:p@127.0.0.1:1/{FILE}",
        "oracle://h/x", f"mssql+{FILE}://h", "postgresql://h:port/d", f"sqlite:///{folder}/\udcff.db", "\udcff",
    )  # fmt: skip
    from pellucid.surfaces.cli.storage import studies as storing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storing, "_CONNECT_S", 1)
        for address in addresses:
            commands.run("explain", "x", "--storage", address)
        for address in (text, database, sound, f"sqlite:///{folder}/{FILE}x/y.db", f"sqlite:///{folder}", pipe):
            commands.run("tune", "x.py:f", "--storage", address)
            commands.run("meta-train", "--storage", address, "--out", folder / "m")
    for address in addresses[:6]:
        commands.run("explain", PELLUCID_STORAGE=str(address).replace("\0", ""))
    held = folder / f"held{FILE}"
    for content in (HOSTILE.encode(), b"\xff", b"", b"x" * 10**6, b"postgresql://u:secret@127.0.0.1:1/d"):
        held.write_bytes(content)
        held.chmod(0o644)
        commands.run("explain", "--storage-file", held)
    for file in (folder, pipe, folder / f"no{FILE}"):
        commands.run("explain", "--storage-file", file)
    _errors_of_storages(recorder, folder)


def _errors_of_storages(recorder: Recorder, folder: Path) -> None:
    import grpc
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import NoSuchModuleError

    from pellucid.surfaces.cli.storage import studies as storing
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.cli.terminal import sentences

    class Call(grpc.RpcError):
        def details(self) -> str:
            return HOSTILE

    (folder / "j.log").write_text("")
    file, server, proxy, journal = (
        place_of(f"sqlite:///{folder}/z.db"), place_of("postgresql://h/d"), place_of("grpc://h:1"),
        place_of(str(folder / "j.log")),
    )  # fmt: skip
    errors = (
        NoSuchModuleError(HOSTILE), ImportError(HOSTILE), StorageInternalError(HOSTILE), KeyError(HOSTILE),
        RuntimeError(f"version {HOSTILE}"), ConnectionError(HOSTILE), Call(), OSError(5, HOSTILE, HOSTILE),
        ValueError(HOSTILE),
    )  # fmt: skip
    for place in (file, server, proxy, journal):
        for error in errors:
            for explained in (storing.storage_sentences(place), sentences()):
                recorder.attempt(lambda explained=explained, error=error: _within(explained, error))
    for wrong in ("", "\0", HOSTILE * 20):
        recorder.attempt(lambda wrong=wrong: storing.check_name(wrong))


def _within(context: Any, error: Exception) -> None:
    with context:
        raise error


def drive_tune(recorder: Recorder, folder: Path, ours: Study, two: Study) -> None:
    """All that `tune` says before it starts workers."""
    commands = Commands(recorder, folder)
    script, odd = folder / f"{FILE}.py", folder / f"{FILE}.sh"
    script.write_text(TARGET)
    odd.write_text("")
    broken, ending, importing = (folder / f"{role}{FILE}.py" for role in ("broken", "ending", "importing"))
    broken.write_text(f"raise ValueError({HOSTILE!r})")
    ending.write_text(f"import sys; sys.exit({HOSTILE!r})")
    importing.write_text(f"raise ImportError({HOSTILE!r}, name={HOSTILE!r})")
    url = stored(folder, "tuned", [ours, two])
    study, several = ours.study_name, two.study_name
    target = f"{script}:objective"
    targets = (HOSTILE, f"{FILE}.py:f", f"{odd}:f", f"~{FILE}/x.py:f", f"{FILE}:f", "no.module:f", f"x:{FILE}")
    for wrong in targets:
        commands.run("tune", wrong, "--storage", url, "--trials", 3)
    base = ("tune", target, "--storage", url, "--study", study, "--trials", 5)
    wrong_options: tuple[tuple[object, ...], ...] = (
        (), ("--metric", HOSTILE), ("--metric", HOSTILE, "--metric", HOSTILE), ("--metric", LOSS, "--metric", "b"),
        ("--direction", "maximize"), ("--direction", HOSTILE), ("--metric", "a", "--direction", "minimize",
        "--direction", "minimize"), ("--sampler", HOSTILE), ("--sampler", "two-step"), ("--pruner", HOSTILE),
        ("--keep", 7), ("--keep", 7, "--pruner", "curve"), ("--keep", HOSTILE), ("--model", folder / FILE),
        ("--model", folder / FILE, "--sampler", "tpe"), ("--seed", HOSTILE), ("--jobs", HOSTILE),
        ("--timeout", HOSTILE),
        ("--trials", HOSTILE), ("--report", folder / FILE), ("--study", ""), ("--study", HOSTILE * 20), ("--quiet",),
        ("--json",), ("--report", folder / f"{FILE}.tuned.html"), ("--metric", " "),
    )  # fmt: skip
    for options in wrong_options:
        commands.run(*base, *options)
    on_two = ("tune", target, "--storage", url, "--study", several, "--trials", 5)
    for options in (
        (),
        ("--sampler", "sawei"),
        ("--pruner", "curve"),
        ("--metric", HOSTILE),
        ("--trials", 99, "--sampler", "sawei"),
    ):
        commands.run(*on_two, *options)
    from pellucid.surfaces.cli.tune import pruning, sampling
    from pellucid.surfaces.cli.tune import target as targets_of

    for number in (2, 9):
        for sampler in sampling.SamplerName:
            recorder.attempt(lambda s=sampler, n=number: sampling.check_objectives(s, None, n))
        recorder.attempt(lambda n=number: sampling.check_objectives(sampling.SamplerName.BAYESIAN, Path(FILE), n))
        recorder.attempt(lambda n=number: pruning.check_pruned_objectives(pruning.PrunerName.CURVE, n))
    for file, function in (
        (script, "objektive"), (script, "Kind"), (script, "number"), (broken, "f"), (ending, "f"), (importing, "f"),
    ):  # fmt: skip
        parsed = targets_of.parse_target(f"{file}:{function}")
        recorder.attempt(lambda parsed=parsed: targets_of.load_objective(parsed))
    recorder.attempt(lambda: targets_of.load_objective(targets_of.Target(HOSTILE, "f", None)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets_of.importlib.util, "spec_from_file_location", lambda *_: None)
        recorder.attempt(lambda: targets_of.load_objective(targets_of.parse_target(f"{script}:objective")))


def drive_runs(recorder: Recorder, folder: Path, ours: Study, two: Study, died: Study, capsys: Any) -> None:
    """The displays and the summary of a run, however it ended."""
    from pellucid.study.view import StudyView
    from pellucid.surfaces.cli.errors import Mistake
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.cli.tune import display, summary, worker
    from pellucid.surfaces.cli.tune.command import _announce
    from pellucid.surfaces.cli.tune.run import EndReason, Outcome
    from pellucid.surfaces.cli.tune.snapshot import RunningCurve, snapshot_of
    from pellucid.surfaces.cli.tune.target import Target

    place = place_of(f"sqlite:///{folder}/run.db")
    line = f"\x1b[32mgreen\x1b[0m\t{HOSTILE}"
    for study in (ours, two, died):
        snapshot = replace(snapshot_of(study), curves=(RunningCurve(3, 2, (1.0, 2.0)),), proposal=HOSTILE)
        progress = display.Progress(HOSTILE, snapshot, 20, 9, 3.0, 0.5, HOSTILE, 2)
        for each in (display.PlainDisplay(), display.LiveDisplay(), display.QuietDisplay()):
            each.line(line)
            each.note(HOSTILE)
            each.update(progress)
            each.close()
            _announce(StudyView.whole(study), place, 3, 20, each)
    recorder.hear(unstyled("".join(capsys.readouterr())), "display")
    loop = folder / f"loop{FILE}"
    loop.symlink_to(loop)
    for reason in EndReason:
        for study in (ours, None):
            for n_failed in (0, 9):
                outcome = Outcome(reason, study, 9, n_failed, HOSTILE, (HOSTILE, HOSTILE))
                for report, as_json in (
                    (loop, False),
                    (None, True),
                    (folder / f"run{FILE}.html", False),
                ):
                    options = summary.SummaryOptions(20, report, False, as_json)
                    recorder.attempt(lambda o=outcome, s=options: summary.print_summary(o, place, s))
    recorder.hear("".join(capsys.readouterr()), "summary")

    def exits(_: object) -> None:
        sys.exit(HOSTILE)

    runner = worker.TrialRunner.__new__(worker.TrialRunner)
    runner._objective, runner._target = exits, Target(HOSTILE, "f", None)
    runner._interruption = SimpleNamespace(allowed=pytest.MonkeyPatch.context, check=lambda: None)  # type: ignore[assignment]
    recorder.attempt(lambda: runner._evaluate(None))  # type: ignore[arg-type]
    recorder.attempt(lambda: _raise(Mistake(worker.refused([1.0], 2, (HOSTILE, HOSTILE)))))


def _raise(error: Exception) -> None:
    raise error


def unstyled(text: str) -> str:
    """Without the colours and the movements of the cursor that are our own."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r(?!\n)", "", text)


def drive_streams(recorder: Recorder, capsys: Any) -> None:
    """Standard output that cannot be written, and a plugin that cannot be loaded."""
    from pellucid.surfaces.cli import app, streams

    plugin = SimpleNamespace(
        name=HOSTILE, dist=SimpleNamespace(name=HOSTILE), load=lambda: _raise(ImportError(HOSTILE))
    )
    recorder.attempt(lambda: app._loaded(plugin))  # type: ignore[arg-type]
    plugin.load = lambda: HOSTILE
    recorder.attempt(lambda: app._loaded(plugin))  # type: ignore[arg-type]

    def lost() -> None:
        with streams.told_if_lost(), streams._lost():
            raise OSError(28, HOSTILE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        recorder.attempt(lost)
    recorder.hear("".join(capsys.readouterr()), "streams")
