"""`pellucid mcp` as an agent sees it: every tool of a server process, and a storage that stays as it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import optuna
import pytest
from tests.cli.mcp.sessions import Answer, Call, Record, session

import pellucid
from pellucid.answers.base import Takes
from pellucid.answers.catalogue import CATALOGUE
from pellucid.beliefs.of_study import beliefs_of
from pellucid.surfaces.cli.mcp.bounds import MOST_JSON, MOST_TEXT
from pellucid.surfaces.cli.questions import overview

FILE = "my studies.db"
ESCAPE = "../../escape\x1b/ü"
# One tool for every question that can be asked, under the key of its answer.
READING = ["list_studies", "overview", *dict.fromkeys(answer.key for answer in CATALOGUE if answer.asked)]
# Tools of 1.0.0rc1, what they asked, and the keys of their answers.
OLD: dict[str, tuple[dict[str, object], set[str]]] = {
    "recommend": ({"study": "ours"}, {"recommendation"}),
    "can_i_stop": ({"study": "ours"}, {"verdict"}),
    "what_matters": ({"study": "ours", "goal": "best"}, {"importance"}),
    "what_parameters_do": ({"study": "ours", "params": ["lr"]}, {"profile", "dependence"}),
    "why_this_trial": ({"study": "ours", "trial": 29}, {"proposal"}),
    "ranges": ({"study": "ours"}, {"ranges"}),
    "front": ({"study": "two"}, {"recommendation", "tradeoff"}),
}

CALLS: dict[str, Call] = {
    "studies": ("list_studies", {}),
    "some studies": ("list_studies", {"containing": "OU"}),
    "overview": ("overview", {"study": "ours"}),
    "recommend": ("recommendation", {"study": "ours"}),
    "stop": ("verdict", {"study": "ours"}),
    "matters": ("importance", {"study": "ours", "objective": None}),
    "goal": ("importance", {"study": "ours", "goal": "best"}),
    "profile": ("profile", {"study": "ours", "params": ["lr"]}),
    "average": ("dependence", {"study": "ours", "params": ["lr", "depth"]}),
    "trial": ("proposal", {"study": "ours", "trial": 29}),
    "last": ("proposal", {"study": "ours"}),
    "ranges": ("ranges", {"study": "ours"}),
    "calibration": ("calibration", {"study": "ours"}),
    "front": ("recommendation", {"study": "two"}),
    "tradeoff": ("tradeoff", {"study": "two"}),
    "stops": ("pruning", {"study": "stops"}),
    "stop of one": ("pruning", {"study": "stops", "trial": 30}),
    "failures": ("failures", {"study": "stops"}),
    "one of two": ("importance", {"study": "two", "objective": "1"}),
    **{f"old {name}": (name, given) for name, (given, _) in OLD.items()},
    "report": ("report", {"study": ESCAPE}),
}
# A tool that no call above asks is asked about `ours`.
NAMED: dict[Takes, dict[str, object]] = {
    Takes.NOTHING: {},
    Takes.TRIAL: {"trial": 29},
    Takes.PARAMS: {"params": ["lr"]},
    Takes.GOAL: {"goal": "best"},
}
CALLED = {name for name, _ in CALLS.values()}
CALLS |= {
    f"tool {answer.key}": (answer.key, {"study": "ours", **NAMED[answer.takes]})
    for answer in CATALOGUE
    if answer.asked and answer.key not in CALLED
}
MISTAKES: list[tuple[Call, str]] = [
    (("recommendation", {"study": "our"}), "has no study `our`; it has "),
    (("recommendation", {}), "has 6 studies, so name one: "),
    (("recommendation", {"study": 3}), "`study` has to be a text; got 3."),
    (("recommendation", {"studie": "ours"}), "no argument `studie`; it takes `study`. Did you mean `study`?"),
    (("recommendation", {"study": "empty"}), "A recommendation needs at least one finished trial"),
    (("recommendation", {"study": "nan"}), "A recommendation needs at least one finished trial"),
    (("overview", {"study": "ours", "objective": "speed"}), "must be the objective or a constraint of this study"),
    (("importance", {"study": "nan"}), "trials"),
    (("importance", {"study": "ours", "goal": "good"}), "`goal` has to be one of best, worst, front, failed"),
    (("dependence", {"study": "ours"}), "`params` has to be a list with one name, or with two different ones"),
    (("profile", {"study": "ours", "params": ["lrr"]}), "Did you mean `lr`?"),
    (("proposal", {"study": "ours", "trial": 99}), "has no trial 99; its trials are 0 to 29"),
    (("proposal", {"study": "ours", "trial": -1}), "`trial` has to be a whole number from 0 on; got -1."),
    (("proposal", {"study": "empty", "trial": 0}), "has no trial"),
    (("ranges", {"study": "two"}), "this study has 2: name one of `objective 0`, `objective 1`."),
    (("profile", {"study": "ours", "params": ["lr", "depth"]}), "A profile is of one parameter."),
    (("tradeoff", {"study": "ours"}), "only in a study with several, but this study has one."),
    (("failures", {"study": "ours"}), "No trial of this study failed."),
    (("pruning", {"study": "ours"}), "No trial of this study was stopped early."),
    (("pruning", {"study": "stops", "trial": 0}), "Trial 0 was not stopped early."),
    (("verdict", {"study": "ours", "objective": "0"}), "no argument `objective`"),
    (("enqueue_trial", {"study": "ours", "params": {"lr": 0.5}}), "There is no tool `enqueue_trial`; there are list_"),
]


@dataclass(frozen=True)
class Session:
    """What a server answered, and the folder of the storage before and after."""

    folder: Path
    record: Record
    before: dict[str, bytes]
    after: dict[str, bytes]

    def __getitem__(self, question: str) -> Answer:
        return self.record.answers[list(CALLS).index(question)]

    @property
    def mistakes(self) -> list[Answer]:
        return self.record.answers[len(CALLS) :]


def objective(trial: optuna.Trial) -> float:
    lr = trial.suggest_float("lr", 0.0, 1.0)
    return (lr - 0.3) ** 2 + 0.01 * trial.suggest_int("depth", 1, 4)


def stopped(trial: optuna.Trial) -> float:
    """Large values fail; from trial 30 on, all others are stopped early."""
    x = trial.suggest_float("x", 0.0, 1.0)
    for step in range(1, 9):
        trial.report(x + 1 / step, step)
        if x > 0.7:
            raise RuntimeError
        if step > 4 and trial.number >= 30:
            raise optuna.TrialPruned
    return x + 0.125


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of every tool and of every mistake."""
    folder = tmp_path_factory.mktemp("served")
    storage, reports = folder / "storage", folder / "reports"
    storage.mkdir()
    reports.mkdir()
    memory = optuna.storages.InMemoryStorage()  # Faster than a disk.

    def study(name: str, **options: object) -> optuna.Study:
        return optuna.create_study(
            study_name=name, storage=memory, sampler=optuna.samplers.RandomSampler(seed=0), **options
        )

    study("ours").optimize(objective, n_trials=30)
    study("two", directions=["minimize", "maximize"]).optimize(lambda t: (objective(t), t.params["lr"]), n_trials=12)
    study("nan").optimize(lambda trial: objective(trial) * float("nan"), n_trials=4)
    study("stops").optimize(stopped, n_trials=40, catch=(RuntimeError,))
    study("empty")
    study(ESCAPE).optimize(objective, n_trials=2)
    written = optuna.storages.RDBStorage(f"sqlite:///{storage / FILE}")
    for name in ("ours", "two", "nan", "stops", "empty", ESCAPE):
        optuna.copy_study(from_study_name=name, from_storage=memory, to_storage=written)
    before = files(storage)
    arguments = ["--storage", f"sqlite:///storage/{FILE}", "--reports", "reports"]
    record = session(folder, arguments, [*CALLS.values(), *(call for call, _ in MISTAKES)])
    return Session(folder, record, before, files(storage))


def test_a_session_of_every_tool_leaves_the_storage_as_it_was(served: Session) -> None:
    assert {name for name, _ in CALLS.values()} - set(OLD) == set(served.record.tools) - set(OLD)
    assert served.after == served.before
    assert list(served.after) == [FILE]


def test_standard_output_has_messages_only_and_the_log_no_errors(served: Session) -> None:
    assert served.record.unreadable == []
    assert served.record.log.startswith("Answering questions about sqlite:///storage/")
    assert "Traceback" not in served.record.log


def test_tools_are_described_and_say_that_they_read_only(served: Session) -> None:
    tools = served.record.tools
    assert list(tools) == [*READING, "report"]
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint is (name != "report")
        assert tool.annotations.destructive_hint is False
        assert len(tool.description) > 150
        assert all("description" in argument for argument in tool.input_schema["properties"].values())
    assert "Optuna" in served.record.instructions


def test_answers_are_the_sentences_and_the_data_of_the_functions(served: Session) -> None:
    study = optuna.load_study(study_name="ours", storage=f"sqlite:///{served.folder / 'storage' / FILE}")
    verdict = pellucid.stopping_verdict(study)
    for question, title, key, finding in [
        ("recommend", "Best configuration", "recommendation", pellucid.recommend(study)),
        ("matters", "What matters", "importance", pellucid.importance(study)),
        ("trial", "Why this configuration", "proposal", pellucid.explain_proposal(study, 29)),
    ]:
        assert f"{title}: {finding}" in served[question].text.splitlines()
        assert served[question].data[key] == json.loads(json.dumps(finding.to_dict()))
        assert served[question].data["counts"]["complete"] == 30
    assert f"Can I stop: {' '.join((verdict.reply, *verdict.notes))}" in served["stop"].text.splitlines()
    assert served["stop"].data["verdict"] == json.loads(json.dumps(verdict.to_dict()))
    # A question that is added to the command line is answered here too.
    assert set(served["overview"].data) >= {question.key for question in overview(beliefs_of(study), None)}


def test_every_other_question_has_its_answer(served: Session) -> None:
    assert "For being among the best 10%" in served["goal"].text
    for question, (tool, _) in CALLS.items():
        if tool in READING[2:]:
            assert set(served[question].data) & {answer.key for answer in CATALOGUE} == {tool}
    assert "Why it was stopped" in served["stop of one"].text
    assert "objective 1" in served["one of two"].text
    studies = served["studies"]
    assert [study["name"] for study in studies.data["studies"]] == sorted(
        ["ours", "two", "nan", "stops", "empty", ESCAPE]
    )
    assert "`ours` (minimize objective): 30 of 30 trials complete" in studies.text
    assert "\x1b" not in studies.text
    assert [study["name"] for study in served["some studies"].data["studies"]] == ["ours"]


def test_a_report_stays_in_its_folder_whatever_the_study_is_called(served: Session) -> None:
    [page] = (served.folder / "reports").iterdir()
    assert served["report"].data == {"study": ESCAPE, "path": str(page), "temporary": False}
    assert page.name.startswith("report-escape-")
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert {path.name for path in served.folder.iterdir()} == {"storage", "reports", "server.log"}


@pytest.mark.parametrize("tool", OLD)
def test_tools_of_the_release_candidate_still_answer(served: Session, tool: str) -> None:
    answer = served[f"old {tool}"]
    assert not answer.failed
    assert set(answer.data) & {answer.key for answer in CATALOGUE} == OLD[tool][1]


def test_every_old_tool_is_tested() -> None:
    assert {name for answer in CATALOGUE for name in answer.described.old_tools} == set(OLD) - {"ranges"}


def test_answers_are_bounded(served: Session) -> None:
    for answer in served.record.answers:
        assert answer.length <= MOST_TEXT + MOST_JSON
    assert not [question for question in CALLS if served[question].failed]


def test_mistakes_are_sentences(served: Session) -> None:
    for (call, sentence), answer in zip(MISTAKES, served.mistakes, strict=True):
        assert answer.failed, call
        assert sentence in answer.text
        assert answer.text.endswith((".", "?"))
        assert "\n" not in answer.text
        assert "Traceback" not in answer.text
