"""HPO-B from files in its layout: reading, every kind of damage, the report's numbers, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from pellucid import plots
from pellucid.cli.app import application
from pellucid.cli.errors import Mistake, Unavailable
from pellucid_lab.papers.ranking import hpob as hpob_runs
from pellucid_lab.papers.ranking import report as transfer_report
from pellucid_lab.papers.ranking.report import Regrets
from pellucid_lab.problems import hpob
from pellucid_lab.problems.tabular import Task
from pellucid_lab.runs.resumable import read

Content = dict[str, Any]
SPLITS = {
    "train": {"4796": ["3", "31", "37"], "5527": ["3", "31"]},
    "validation": {"4796": ["44"], "5527": ["50"]},
    "test": {"4796": ["23", "29", "54"], "5527": ["23", "29"]},
}
COLUMNS = {"4796": 3, "5527": 2}


def content() -> Content:
    """File name -> what is in it: 30 configurations or so per data set, y as a column here and flat there."""
    rng = np.random.default_rng(0)
    files: Content = {}
    starts: Content = {}
    for split, spaces in SPLITS.items():
        tables: Content = {}
        for space, names in spaces.items():
            tables[space] = {}
            for k, name in enumerate(names):
                X = rng.random((28 + k, COLUMNS[space]))
                y = 0.9 - ((X - 0.3) ** 2).sum(axis=1)
                tables[space][name] = {"X": X.tolist(), "y": (y[:, None] if k % 2 == 0 else y).tolist()}
                if split == "test":
                    picked = {f"test{s}": rng.choice(len(X), 5, replace=False).tolist() for s in range(5)}
                    starts.setdefault(space, {})[name] = picked
        files[f"meta-{split}-dataset.json"] = tables
    return files | {"bo-initializations.json": starts}


def write(files: Content, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, tables in files.items():
        (folder / name).write_text(json.dumps(tables))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(content(), tmp_path / "data")


# ---------------------------------------------------------------------- reading


def test_a_collection_per_space_has_every_table_as_it_was_written(folder: Path) -> None:
    files = content()
    collections = hpob.read_hpob(str(folder))
    assert [one.name for one in collections] == ["4796", "5527"]
    for one in collections:
        assert one.steps == 100
        assert list(one.space.names) == [f"x{j}" for j in range(COLUMNS[one.name])]
        for split, tasks in (("train", one.train), ("validation", one.validation), ("test", one.test)):
            assert [task.name for task in tasks] == SPLITS[split][one.name]
            for task in tasks:
                entry = files[f"meta-{split}-dataset.json"][one.name][task.name]
                np.testing.assert_array_equal(task.X, entry["X"])
                np.testing.assert_array_equal(task.y, np.ravel(entry["y"]))
        for task in one.test:
            rows = files["bo-initializations.json"][one.name][task.name]
            np.testing.assert_array_equal(one.seeds[task.name], [rows[f"test{s}"] for s in range(5)])
        for task in one.validation:
            starts = one.seeds[task.name]
            assert starts.shape == (5, 5)
            assert all(len(set(row)) == 5 and max(row) < len(task.y) for row in starts.tolist())


def test_spaces_and_splits_are_chosen_and_other_files_stay_closed(folder: Path) -> None:
    for split in ("train", "validation"):
        (folder / f"meta-{split}-dataset.json").unlink()
    (one,) = hpob.read_hpob(str(folder), ["5527"], ("test",))
    assert (one.name, one.train, one.validation, len(one.test)) == ("5527", (), (), 2)
    with pytest.raises(Unavailable, match=r"needs .*meta-validation-dataset.json"):
        hpob.read_hpob(str(folder))


def test_a_folder_as_it_is_unpacked_and_starts_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    files = content()
    rows = {f"test{s}": [s, s + 1] for s in range(11)}
    files["bo-initializations.json"]["5527"]["23"] = dict(reversed(rows.items()))
    write(files, tmp_path / "hpob-data")
    (one,) = hpob.read_hpob(str(tmp_path), ["5527"], ("test",))
    np.testing.assert_array_equal(one.seeds["23"], list(rows.values()))


def test_rounding_outside_the_unit_cube_is_taken_back(tmp_path: Path) -> None:
    files = content()
    files["meta-test-dataset.json"]["5527"]["23"]["X"][0] = [1.0 + 1e-9, -1e-9]
    (one,) = hpob.read_hpob(str(write(files, tmp_path)), ["5527"], ("test",))
    np.testing.assert_array_equal(one.test[0].X[0], [1.0, 0.0])


def _test(files: Content) -> Content:
    return dict(files["meta-test-dataset.json"]["4796"]["29"])


def _set(key: str, value: Callable[[Any], Any]) -> Callable[[Content], None]:
    def damage(files: Content) -> None:
        entry = files["meta-test-dataset.json"]["4796"]["29"]
        entry[key] = value(entry[key])

    return damage


def _starts(value: Any) -> Callable[[Content], None]:
    return lambda files: files["bo-initializations.json"]["4796"]["29"].update(test2=value)


PLACE = "search space 4796, data set 29"
DAMAGE: dict[str, tuple[Callable[[Content], Any], str]] = {
    "no X": (lambda files: files["meta-test-dataset.json"]["4796"]["29"].pop("X"), f"{PLACE}: .* X is missing"),
    "no y": (lambda files: files["meta-test-dataset.json"]["4796"]["29"].pop("y"), f"{PLACE}: .* y is missing"),
    "ragged X": (_set("X", lambda X: [*X[:-1], X[-1][:-1]]), f"{PLACE}: X has to be rows of numbers"),
    "flat X": (_set("X", lambda X: X[0]), f"{PLACE}: X has to be rows of numbers"),
    "empty X": (_set("X", lambda X: []), f"{PLACE}: X has to be rows of numbers"),
    "words in X": (_set("X", lambda X: [["a", "b", "c"], *X[1:]]), f"{PLACE}: X has to be rows of numbers"),
    "null in X": (_set("X", lambda X: [[None, 0.0, 0.0], *X[1:]]), f"{PLACE}: X has to be rows of numbers"),
    "truth in X": (_set("X", lambda X: [[True] * 3 for _ in X]), f"{PLACE}: X has to be rows of numbers"),
    "NaN in X": (_set("X", lambda X: [X[0], [float("nan")] * 3, *X[2:]]), f"{PLACE}: X .* finite, but row 1 is not"),
    "NaN in y": (_set("y", lambda y: [*y[:-1], float("nan")]), f"{PLACE}: y has to be finite, but row 28 is not"),
    "infinite y": (_set("y", lambda y: [float("inf"), *y[1:]]), f"{PLACE}: y has to be finite, but row 0 is not"),
    "raw X": (_set("X", lambda X: [[100.0, 0.0, 0.0], *X[1:]]), f"{PLACE}: X has to lie in .0, 1., .* to 100"),
    "y in two columns": (_set("y", lambda y: [[v, v] for v in y]), f"{PLACE}: y has to be one number"),
    "y as a number": (_set("y", lambda y: 1.0), f"{PLACE}: y has to be one number"),
    "shorter y": (_set("y", lambda y: y[:-1]), f"{PLACE}: .* equally long, but have 29 and 28"),
    "fewer columns here": (_set("X", lambda X: [row[:2] for row in X]), "columns of X, but 23 has 3 and 29 has 2"),
    "fewer columns there": (
        lambda files: files["meta-train-dataset.json"].update({"4796": {"3": {"X": [[0.1]], "y": [1.0]}}}),
        "meta-train-dataset.json, search space 4796, data set 3: .* the 3 columns",
    ),
    "in two splits": (
        lambda files: files["meta-train-dataset.json"]["4796"].update({"29": _test(files)}),
        "in one split only, but 29 is in train and test",
    ),
    "a list of data sets": (
        lambda files: files["meta-test-dataset.json"].update({"4796": [1, 2]}), "4796: .* map data sets",
    ),
    "a foreign file": (
        lambda files: files.update({"meta-test-dataset.json": {"name": "x", "4796": "y"}}), "4796: .* map data sets",
    ),
    "a list": (lambda files: files.update({"meta-train-dataset.json": [1]}), "train.*json: the file has to map"),
    "an empty file": (lambda files: files.update({"meta-train-dataset.json": {}}), "train.*json: the file has to map"),
    "a space that is missing": (lambda files: files["meta-train-dataset.json"].pop("4796"), "no search space `4796`"),
    "no starts": (lambda files: files["bo-initializations.json"]["4796"].pop("29"), f"{PLACE}: .* has none"),
    "no starts of a space": (lambda files: files["bo-initializations.json"].pop("4796"), "data set 23: .* has none"),
    "an index too large": (_starts([0, 1, 2, 3, 29]), f"{PLACE}: test2 .* below 29, but lists 29"),
    "a negative index": (_starts([0, 1, 2, 3, -1]), f"{PLACE}: test2 .* lists -1"),
    "an index that is none": (_starts([0, 1, 2, 3, 4.5]), f"{PLACE}: test2 has to list indices"),
    "an index twice": (_starts([0, 1, 2, 3, 3]), f"{PLACE}: test2 .* repeats one"),
    "a shorter start": (_starts([0, 1]), f"{PLACE}: all starts have to be equally long, but have 2 to 5"),
    "nothing to search": (
        lambda files: files["bo-initializations.json"]["4796"].update({"29": {"test0": list(range(29))}}),
        f"{PLACE}: a start has to leave something",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_sentence_that_says_where(kind: str, tmp_path: Path) -> None:
    damage, sentence = DAMAGE[kind]
    files = content()
    damage(files)
    with pytest.raises(Mistake, match=sentence) as caught:
        hpob.read_hpob(str(write(files, tmp_path)), ["4796"])
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value) or kind in ("in two splits", "fewer columns there")


@pytest.mark.parametrize("name", [*content()])
@pytest.mark.parametrize(
    "bytes_", [b"", b'{"4796": {"23": {"X": [[0.1, ', b"version https://git-lfs", b"\xff\xfe{", b"[" * 10**5]
)
def test_what_is_not_json_is_said(name: str, bytes_: bytes, folder: Path) -> None:
    (folder / name).write_bytes(bytes_)
    with pytest.raises(Mistake, match=f"{name}: the file has to be JSON, but is not .*; get the files again"):
        hpob.read_hpob(str(folder))


def test_a_missing_folder_says_where_the_data_can_be_got(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"there is none in .*hpob-data.zip, which https://github.com/.*--data DIR"):
        hpob.read_hpob(str(tmp_path / "nothing"))


# ---------------------------------------------------------------------- regret and ranks


def some_regrets(methods: int, tasks: int, seeds: int, steps: int) -> Regrets:
    rng = np.random.default_rng(methods)
    # Few levels, so that many are equal.
    by = {
        f"m{k}": np.minimum.accumulate(rng.integers(0, 6, (tasks * seeds, steps)) / 5.0, axis=1) for k in range(methods)
    }
    names = tuple(f"t{r // seeds}" for r in range(tasks * seeds))
    return Regrets(by, names, tuple(f"s{int(name[1:]) % 2}" for name in names))


def naive_rank(values: list[float], mine: float) -> float:
    return 1 + sum(v < mine for v in values) + (sum(v == mine for v in values) - 1) / 2


def test_average_ranks_are_those_of_loops() -> None:
    regrets = some_regrets(4, 3, 5, 12)
    ranks = transfer_report.average_ranks(regrets)
    for name, regret in regrets.by_method.items():
        for s in range(12):
            of_runs = [
                naive_rank([other[r, s] for other in regrets.by_method.values()], regret[r, s]) for r in range(15)
            ]
            assert ranks[name][s] == pytest.approx(sum(of_runs) / 15)
    np.testing.assert_allclose(sum(ranks.values()), 4 * 5 / 2)


def test_equal_methods_share_the_mean_rank() -> None:
    same = np.full((3, 2), 0.5)
    regrets = Regrets({"a": same, "b": same, "c": np.zeros((3, 2))}, ("t", "u", "v"), ("s",) * 3)
    ranks = {name: curve.tolist() for name, curve in transfer_report.average_ranks(regrets).items()}
    assert ranks == {"a": [2.5, 2.5], "b": [2.5, 2.5], "c": [1.0, 1.0]}
    equal = transfer_report.difference(Regrets({"a": same, "b": same}, ("t", "u", "v"), ("s",) * 3), 1)
    assert (equal.p, equal.worse) == (1.0, ())
    assert str(equal) == "After 1 step, the methods cannot be told apart (Friedman p = 1, 3 tasks)"


def test_tables_say_what_loops_say() -> None:
    regrets = some_regrets(3, 4, 5, 60)
    assert regrets.marks == (1, 5, 10, 20, 50, 60)
    first, second, third, last = transfer_report.report_grids(regrets)
    ranks = transfer_report.average_ranks(regrets)
    for row in first.rows:
        values = regrets.by_method[row[0]]
        assert row[1:] == tuple(f"{sum(values[r, m - 1] for r in range(20)) / 20:.3g}" for m in regrets.marks)
    for row in second.rows:
        mine = ranks[row[0]]
        assert row[1:3] == (f"{sum(mine[:20]) / 20:.2f}", f"{sum(mine) / 60:.2f}")
        assert row[-1] == f"{mine[-1]:.2f}"
    for row in third.rows:
        runs = [r for r in range(20) if regrets.spaces[r] == row[0]]
        assert row[1] == "2"
        assert row[2:] == tuple(f"{np.mean([v[r, -1] for r in runs]):.3g}" for v in regrets.by_method.values())
    assert [row[0] for row in last.rows] == [str(mark) for mark in regrets.marks]


def test_blocks_are_tasks_with_their_seeds_averaged() -> None:
    """Seeds disagree, tasks do not: `a` is ahead in every task's mean although it loses most runs."""
    a, b = np.tile([[0.0], [0.2], [0.2]], (12, 1)), np.tile([[0.9], [0.1], [0.1]], (12, 1))
    regrets = Regrets({"a": a, "b": b}, tuple(f"t{r // 3}" for r in range(36)), ("s",) * 36)
    assert transfer_report.average_ranks(regrets)["a"][0] > 1.5
    found = transfer_report.difference(regrets, 1)
    assert (found.tasks, found.ranks, found.best, found.worse) == (12, {"a": 1.0, "b": 2.0}, "a", ("b",))
    assert str(found).startswith(
        "After 1 step, a has the best mean rank and differs from b (Friedman p < 0.001, 12 tasks)"
    )


def test_sentences_name_who_differs() -> None:
    ranks = {"a": 1.0, "b": 2.5, "c": 2.5}
    found = transfer_report.Difference(5, 9, 0.01, 1.5, ranks)
    assert (
        str(found) == "After 5 steps, a has the best mean rank and differs from all others (Friedman p = 0.01, 9 tasks)"
    )
    some = transfer_report.Difference(5, 9, 0.01, 1.5, {**ranks, "c": 1.1, "d": 4.0})
    assert "differs from b and d (" in str(some)
    none = transfer_report.Difference(5, 9, 0.04, 2.0, ranks)
    assert "but differs from no other method alone (" in str(none)


def test_nothing_is_compared_with_one_method_or_one_task() -> None:
    for regrets in (some_regrets(1, 4, 2, 3), some_regrets(2, 1, 4, 3)):
        assert transfer_report.differences(regrets, (1,)) == []
        assert len(transfer_report.report_grids(regrets)) == 3
        assert set(transfer_report.figures(regrets, "x")) == {"ranks", "regret"}


def test_runs_and_steps_have_to_agree() -> None:
    with pytest.raises(ValueError, match="the same runs and steps"):
        Regrets({"a": np.zeros((2, 3)), "b": np.zeros((2, 4))}, ("t", "t"), ("s", "s"))
    with pytest.raises(ValueError, match="Each of the 2 runs"):
        Regrets({"a": np.zeros((2, 3))}, ("t",), ("s", "s"))


def test_a_table_that_is_used_up_keeps_its_last_regret() -> None:
    task = Task("t", np.zeros((4, 1)), np.array([0.0, 1.0, 0.5, 0.25]))
    chosen = np.array([[0, 3, 2, 1], [3, 0, 1, 2]])
    found = transfer_report.regret_after(task, chosen, 1, 5)
    np.testing.assert_allclose(found, [[0.75, 0.5, 0.0, 0.0, 0.0], [0.75, 0.0, 0.0, 0.0, 0.0]])


def test_a_regret_of_zero_ends_its_line_on_the_logarithmic_axis() -> None:
    regrets = Regrets({"a": np.array([[0.5, 0.0]]), "b": np.array([[0.5, 0.1]])}, ("t",), ("s",))
    figure = transfer_report.figures(regrets, "x")["regret"]
    assert figure.layout.yaxis.type == "log"
    assert figure.data[0].y[0] == 0.5
    assert np.isnan(figure.data[0].y[1])
    assert "a has the lowest mean regret at the end (0)" in figure.layout.title.text
    assert figure.layout.yaxis.title.text == "mean regret over 1 runs (a line ends where it is 0)"


# ---------------------------------------------------------------------- the command


def call(*arguments: str) -> Result:
    return CliRunner().invoke(application(), ["bench", "hpob", *arguments])


def test_the_command_runs_continues_and_notices_other_data(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "browser", lambda: None)  # Pages are written faster than pictures.
    out = tmp_path / "out"
    arguments = ("--data", str(folder), "--steps", "6", "--jobs", "1", "--out", str(out))
    first = call(*arguments, "--spaces", "5527", "--methods", "random", "--no-figures", "--quiet")
    assert first.exit_code == 0, first.output
    assert first.output == ""
    assert len(read(out / "hpob.jsonl", hpob_runs.Found)) == 2

    second = call(*arguments, "--json")
    assert second.exit_code == 0, second.output
    assert "2 of 10 runs are already in" in second.stderr
    grids = {grid["title"]: grid for grid in json.loads(second.stdout)}
    table = grids["Mean regret after … steps, 25 runs of 5 tasks"]
    assert table["columns"] == ["method", "1", "5", "6"]
    found = {row[0]: [float(value) for value in row[1:]] for row in table["rows"]}
    assert found["gp"][-1] < found["random"][-1]
    assert [row[0] for row in grids["Mean regret after 6 steps, by search space"]["rows"]] == ["4796", "5527"]
    page = (out / "hpob.md").read_text(encoding="utf-8")
    assert "with tasks as blocks" in page
    assert "## Average rank" in page
    for name in ("ranks", "regret", "differences-5", "differences-6"):
        assert (out / f"hpob-{name}.html").stat().st_size > 5000

    before = (out / "hpob.jsonl").read_bytes()
    third = call(*arguments, "--no-figures")
    assert third.exit_code == 0, third.output
    assert "10 of 10 runs are already in" in third.stderr
    assert "Average rank" in third.stdout
    assert (out / "hpob.jsonl").read_bytes() == before

    files = content()
    files["meta-test-dataset.json"]["4796"]["29"]["y"][0] = 0.123
    write(files, folder)
    fourth = call(*arguments, "--methods", "random", "--no-figures")
    assert fourth.exit_code == 0, fourth.output
    assert "4 of 5 runs are already in" in fourth.stderr


def test_a_job_is_a_search_from_the_published_starts(folder: Path) -> None:
    jobs = hpob_runs.plan(str(folder), ["4796"], ["random", "gp"], 40)
    assert [(job.method, job.task) for job in jobs] == [(m, t) for m in ("random", "gp") for t in ("23", "29", "54")]
    found = [hpob_runs.run_job(job) for job in jobs if job.method == "random"]
    again = hpob_runs.run_job(jobs[1])
    assert again.regret == found[1].regret
    for one in found:
        regret = np.array(one.regret)
        assert regret.shape == (5, 40)
        assert (np.diff(regret, axis=1) <= 0.0).all()
        np.testing.assert_array_equal(regret[:, -1], 0.0)  # 40 steps look up the whole table.


def test_a_method_may_learn_from_every_split_but_the_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def learner(collection: Any) -> Any:
        seen.append(collection)
        return hpob_runs.METHODS["random"](collection)

    monkeypatch.setattr(hpob_runs, "METHODS", {**hpob_runs.METHODS, "learner": learner})
    for job in hpob_runs.plan(str(folder), ["4796"], ["learner"], 3):
        hpob_runs.run_job(job)
    (collection,) = seen
    assert [task.name for task in (*collection.train, *collection.validation)] == ["3", "31", "37", "44"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that hardly learn."""
    pytest.importorskip("torch")
    from pellucid.surrogates.ranking import earlier_studies
    from pellucid_lab.papers.ranking import baselines as transfer_baselines
    from pellucid_lab.papers.ranking.surrogates import deep_kernel

    meta = partial(deep_kernel.DeepKernelGP.meta_train, meta=deep_kernel.MetaSettings(steps=3))
    monkeypatch.setattr(deep_kernel.DeepKernelGP, "meta_train", staticmethod(meta))
    monkeypatch.setattr(transfer_baselines, "DeepEnsembleEI", partial(transfer_baselines.DeepEnsembleEI, epochs=3))
    monkeypatch.setattr(earlier_studies, "_FEWEST_STEPS", 3)
    monkeypatch.setattr(earlier_studies, "_STEPS_PER_TRIAL", 0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("method", hpob_runs.METHODS)
def test_every_method_searches_from_the_published_starts(method: str, folder: Path) -> None:
    if method in hpob_runs.WITHOUT_TRANSFER:
        (folder / "meta-train-dataset.json").unlink()
    jobs = hpob_runs.plan(str(folder), ["5527"], [method], 2)
    found = [hpob_runs.run_job(job) for job in jobs]
    for one in found:
        regret = np.array(one.regret)
        assert regret.shape == (5, 2)
        assert ((regret >= 0.0) & (regret <= 1.0)).all()
    assert hpob_runs.regrets_of(jobs, found).steps == 2


@pytest.mark.usefixtures("quick")
def test_tasks_without_an_order_are_not_learned_from(tmp_path: Path) -> None:
    files = content()
    tables = files["meta-train-dataset.json"]["5527"]
    tables["3"] = {"X": [[0.1, 0.2]], "y": [1.0]}
    (job, *_) = hpob_runs.plan(str(write(files, tmp_path / "some")), ["5527"], ["ranking"], 1)
    assert hpob_runs.run_job(job).regret
    tables["31"]["y"] = [0.5] * len(tables["31"]["X"])
    (job, *_) = hpob_runs.plan(str(write(files, tmp_path / "none")), ["5527"], ["ranking"], 1)
    with pytest.raises(Mistake, match=r"5527: learning needs a task .* leave `ranking` out of --methods"):
        hpob_runs.run_job(job)


def test_results_depend_on_other_tasks_only_where_those_are_learned_from(folder: Path) -> None:
    pytest.importorskip("torch")
    before = hpob_runs.plan(str(folder), ["5527"], ["gp", "ranking"], 2)
    files = content()
    files["meta-train-dataset.json"]["5527"]["3"]["y"][0] = [0.123]
    after = hpob_runs.plan(str(write(files, folder)), ["5527"], ["gp", "ranking"], 2)
    assert [a.key == b.key for a, b in zip(before, after, strict=True)] == [True, True, False, False]
    assert [job.key for job in hpob_runs.plan(str(folder), ["5527"], ["gp"], 2)] == [job.key for job in after[:2]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "magic"], "The methods are random, gp, deep-ensemble, dgp, fsbo, rgpe, ranking; got `magic`"),
        (["--methods", "random,"], "--methods takes names with commas"),
        (["--spaces", "1"], "has no search space `1`; it has 4796, 5527"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, folder: Path, tmp_path: Path
) -> None:
    result = call("--data", str(folder), "--out", str(tmp_path / "out"), *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_damage_and_missing_data_end_the_command_with_their_sentence(folder: Path, tmp_path: Path) -> None:
    missing = call("--data", str(tmp_path / "nothing"), "--out", str(tmp_path / "out"))
    assert missing.exit_code == 3
    assert missing.stderr.startswith("HPO-B is skipped: it needs meta-test-dataset.json, but there is none in")
    (folder / "bo-initializations.json").write_text("{")
    damaged = call("--data", str(folder), "--out", str(tmp_path / "out"))
    assert damaged.exit_code == 2
    assert "has to be JSON" in damaged.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_of_the_file_that_was_cut_short_is_run_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--data", str(folder), "--steps", "2", "--jobs", "1", "--out", str(out), "--methods", "random",
                 "--spaces", "5527", "--no-figures", "--quiet")  # fmt: skip
    assert call(*arguments).exit_code == 0
    whole = read(out / "hpob.jsonl", hpob_runs.Found)
    text = (out / "hpob.jsonl").read_text()
    (out / "hpob.jsonl").write_text(text[:-10])
    assert call(*arguments).exit_code == 0
    assert [one.regret for one in read(out / "hpob.jsonl", hpob_runs.Found)] == [one.regret for one in whole]
