"""What is read from storages and files, after somebody else has written there."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial
from tests.words.recorder import Recorder, name
from tests.words.studies import ADAM, DEPTH, LIMIT, LR, OPT, SGD, new, one, pruned

import pellucid
from pellucid.files import write_atomically
from pellucid.models.states import Hyperparameters, Warp
from pellucid.provenance import PruningDecision, Receipt, Term

HOSTILE = name("stored")
BAD: tuple[Any, ...] = (HOSTILE, -1, None, math.nan, [HOSTILE], {HOSTILE: HOSTILE}, 10**400)
RECEIPT, DECISION, MODEL = "pellucid:receipt", "pellucid:pruning", "pellucid:ranker"


def changed(data: Any) -> Iterator[Any]:
    """The data with one value after the other, at any depth, in the place of what was there."""
    if isinstance(data, dict):
        for key, value in data.items():
            for bad in BAD:
                yield {**data, key: bad}
            yield {other: entry for other, entry in data.items() if other != key}
            for inner in changed(value):
                yield {**data, key: inner}
    elif isinstance(data, list):
        for i, value in enumerate(data[:2]):
            for inner in changed(value):
                yield [*data[:i], inner, *data[i + 1 :]]


def stored_text(trial: FrozenTrial, key: str) -> str:
    parts = [value for attribute, value in trial.system_attrs.items() if attribute.startswith(f"{key}:")]
    return "".join(map(str, parts))


def with_text(study: Study, number: int, text: Any, key: str = RECEIPT, role: str = "changed") -> Study:
    """A copy of a study in which a trial has another receipt, or another decision to stop it."""
    copy = new(role, sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=4))
    for trial in study.get_trials(deepcopy=True):
        attributes = trial.system_attrs
        if trial.number == number:
            attributes = {each: value for each, value in attributes.items() if not each.startswith(f"{key}:")}
            attributes |= text if isinstance(text, dict) else {f"{key}:0": text}
        changes = {"state": trial.state, "params": trial.params, "distributions": trial.distributions}
        kept = {"user_attrs": trial.user_attrs, "intermediate_values": trial.intermediate_values}
        copy.add_trial(create_trial(value=trial.value, system_attrs=attributes, **changes, **kept))
    return copy


def drive_records(recorder: Recorder, study: Study) -> None:
    """Receipts and decisions in which one thing is wrong."""
    data = json.loads(stored_text(study.trials[-1], RECEIPT))
    for wrong in (*changed(data), {**data, HOSTILE: 1}):
        receipt = recorder.attempt(lambda wrong=wrong: Receipt.from_json(json.dumps(wrong)))
        if receipt is not None:
            recorder.hear(receipt, "print(receipt)")
            recorder.hear(repr(receipt), "repr(receipt)")
            recorder.hear(receipt._repr_html_(), "notebook of a receipt")
    for text in ("", HOSTILE, "[" * 100_000, json.dumps({"version": 99}), json.dumps([HOSTILE])):
        recorder.attempt(lambda text=text: Receipt.from_json(text))
        recorder.attempt(lambda text=text: PruningDecision.from_json(text))
    stopped = pruned()
    for trial in stopped.trials:
        text = stored_text(trial, DECISION)
        if text:
            decision = PruningDecision.from_json(text)
            recorder.hear(decision, "print(decision)")
            for wrong in changed(json.loads(text)):
                recorder.attempt(lambda wrong=wrong: PruningDecision.from_json(json.dumps(wrong)))
            break
    numbers = ((math.nan, 1, 1, 0, 1), (0, 1, 0, -1, 1), (0, 1, 9, 0, 1))
    for kind in ("log", "yeo-johnson", HOSTILE):
        for each in numbers:
            recorder.attempt(lambda kind=kind, each=each: Warp(kind, *each))
    for changes in ({"nominal": (-1,)}, {"noise": -1.0}):
        numbers_of = dict.fromkeys(("outputscale", "noise", "y_mean", "y_scale"), 1.0)
        right: dict[str, Any] = {"kernel": "matern32", "lengthscales": (1.0,), **numbers_of}
        recorder.attempt(lambda right=right, changes=changes: Hyperparameters(**{**right, **changes}))
    recorder.attempt(lambda: Hyperparameters.from_dict({HOSTILE: HOSTILE}))
    recorder.attempt(lambda: Term(HOSTILE, HOSTILE, HOSTILE))


def drive_studies_with_receipts(recorder: Recorder, study: Study) -> None:
    """Questions about trials whose receipts were changed."""
    data = json.loads(stored_text(study.trials[-1], RECEIPT))
    last = study.trials[-1].number
    acquisition = data["acquisition"]
    texts: list[Any] = [
        {f"{RECEIPT}:1": "x"},
        {f"{RECEIPT}:0": 3},
        *(
            json.dumps({**data, **wrong})
            for wrong in (
                {"fitted_on": ""},
                {"fitted_on": "0-99"},
                {"hyperparameters": {**data["hyperparameters"], "kernel": HOSTILE}},
                {"acquisition": {**acquisition, "settings": {**acquisition["settings"], "enough": 0.0}}},
                {"trial": 3},
                {"params": {**data["params"], LR: 1e9}},
                {"space": {**data["space"], LR: HOSTILE}},
                {"space": {**data["space"], HOSTILE: 0}},
                {"acquisition": {**acquisition, "name": HOSTILE}},
                {"acquisition": {**acquisition, "settings": {HOSTILE: HOSTILE}}},
                {"acquisition": {**acquisition, "name": "SAWEI", "settings": {"alpha": HOSTILE}}},
                {"constraints": [{**entry, "name": HOSTILE} for entry in data["constraints"]]},
                {"curves": {"horizon": 9, "learned_from": "0-99", "stopped": "77", "running": {}}},
                {"kind": "startup", "reason": HOSTILE, "phase": HOSTILE, "turn": HOSTILE},
                {"kind": "fallback", "reason": HOSTILE},
                {"kind": "ranking", "ranking": {"model": HOSTILE, "turn": "model", "acquisition": "mean",
                                                "reference": "incumbent", "epochs": 1}},
            )
        ),
    ]  # fmt: skip
    for text in texts:
        copy = with_text(study, last, text)
        for ask in (pellucid.rebuild, pellucid.explain_proposal, pellucid.receipt, pellucid.compare_importance):
            recorder.attempt(lambda ask=ask, copy=copy: recorder.hear(ask(copy, last), ask.__name__))
        recorder.attempt(lambda copy=copy: pellucid.explain_proposal(copy, last, objective=LIMIT))
        recorder.attempt(lambda copy=copy: pellucid.receipts(copy))
        recorder.attempt(lambda copy=copy: copy.optimize(one, n_trials=1))


def drive_repeats(recorder: Recorder, study: Study) -> None:
    """A trial that repeats another, whose process had died."""
    copy = new("repeats")
    for trial in study.trials:
        copy.add_trial(trial)
    attributes = {**study.trials[-1].system_attrs, "failed_trial": 3}
    last = study.trials[-1]
    copy.add_trial(
        create_trial(value=1.0, params=last.params, distributions=last.distributions, system_attrs=attributes)
    )
    recorder.attempt(lambda: pellucid.explain_proposal(copy, last.number + 1))


def drive_trials_before(recorder: Recorder) -> None:
    """Trials of other samplers that no model can say anything about."""
    study = new("bare", sampler=optuna.samplers.RandomSampler(seed=0))
    lr = FloatDistribution(1e-4, 1.0, log=True)
    rows: list[dict[str, Any]] = [
        {"value": 1.0},
        {"value": 1.0, "params": {LR: 0.1}, "distributions": {LR: lr}},
        *({"value": float(i), "params": {LR: 0.1 * i}, "distributions": {LR: lr}} for i in range(1, 6)),
        {"value": 1.0, "params": {OPT: SGD}, "distributions": {OPT: CategoricalDistribution([SGD, ADAM])}},
        {"value": 1.0, "params": {LR: 50.0}, "distributions": {LR: FloatDistribution(10.0, 90.0)}},
        {"value": 1.0, "params": {DEPTH: 3}, "distributions": {DEPTH: IntDistribution(3, 3)}},
        {"state": TrialState.RUNNING},
    ]
    for row in rows:
        study.add_trial(create_trial(**row))
    for number in range(len(rows)):
        recorder.attempt(lambda number=number: pellucid.explain_proposal(study, number))
        recorder.attempt(lambda number=number: pellucid.explain_proposal(study, number, objective=HOSTILE))
    single = new("single", sampler=optuna.samplers.RandomSampler(seed=0))
    for value in range(6):
        single.add_trial(create_trial(value=value, params={DEPTH: 3}, distributions={DEPTH: IntDistribution(3, 3)}))
    recorder.attempt(lambda: pellucid.explain_proposal(single, 5))
    recorder.attempt(lambda: pellucid.profile_effect(single, DEPTH))
    recorder.attempt(lambda: pellucid.importance(single))


def drive_models(recorder: Recorder, folder: Path) -> None:
    """Files of ranking models, and the conditions and distributions in them."""
    from safetensors.numpy import save as save_tensors

    from pellucid.models.ranking import files
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.training import Recipe

    space = _space()
    rng = np.random.default_rng(0)
    tasks = [(name(f"task {i}"), space.canonical(rng.random((12, len(space)))), rng.random(12)) for i in range(3)]
    ensemble = RankingEnsemble(space, members=1, width=3, recipe=Recipe(steps=1, list_size=8, lists=2))
    recorder.attempt(lambda: ensemble.meta_trained([(HOSTILE, tasks[0][1][:1], tasks[0][2][:1])], []))
    model = ensemble.meta_trained(tasks[:2], tasks[2:])
    data = files.to_bytes(model)
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    header = json.loads(head["__metadata__"][MODEL])

    def with_header(wrong: Any, rest: bytes = data[8 + size :]) -> bytes:
        text = json.dumps({**head, "__metadata__": {MODEL: json.dumps(wrong)}}).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + rest

    source = str(folder / HOSTILE.replace("/", " "))
    ends = [{**entry, "distribution": entry["distribution"].replace("1.0", "1e999")} for entry in header["space"]]
    several = {OPT: [LR, 0.1, 0.5], LR: [OPT, [0, 1]]}
    looped = [
        {**header, "space": ends},
        {**header, "conditions": several},
        {**header, "conditions": {DEPTH: [OPT, [7]]}},
    ]
    huge = {**header, "recipe": {**header["recipe"], "lists": 10**6, "list_size": 10**4}}
    for wrong in [*changed(header), *looped, huge, {**header, "format": 99}]:
        recorder.attempt(lambda wrong=wrong: files.from_bytes(with_header(wrong), source))
    for each in (b"", HOSTILE.encode(), data[:-9], with_header(header, b"")):
        recorder.attempt(lambda each=each: files.from_bytes(each, source))
    none = {key: np.full(tuple(entry["shape"]), np.nan, np.float32) for key, entry in head.items() if key[0] != "_"}
    nan = save_tensors(none, {MODEL: json.dumps(header)})
    recorder.attempt(lambda: files.from_bytes(nan, source))
    fewer = save_tensors({"x": np.zeros(3, np.float32)}, {MODEL: json.dumps(header)})
    recorder.attempt(lambda: files.from_bytes(fewer, source))
    place = folder / HOSTILE.replace("/", " ").replace("\0", "")[:60]
    recorder.attempt(lambda: files.load(place))
    place.mkdir()
    recorder.attempt(lambda: files.load(place))
    pipe = folder / f"pipe{HOSTILE[:20]}"
    os.mkfifo(pipe)
    recorder.attempt(lambda: files.load(pipe))
    recorder.attempt(lambda: files.load(Path(f"{place}/{'x' * 300}")))
    large = folder / f"large{HOSTILE[:20]}"
    with large.open("wb") as file:
        file.truncate(files._LARGEST_FILE + 1)
    recorder.attempt(lambda: files.load(large))
    from pellucid.models.ranking.network import Architecture

    recorder.attempt(lambda: Architecture(3, context=HOSTILE))
    for wrong in ({"loss": HOSTILE}, {"steps": -1}, {"steps": HOSTILE}, {"learning_rate": -1}, {"list_size": 1}):
        recorder.attempt(lambda wrong=wrong: Recipe(**wrong))
    recorder.attempt(lambda: RankingEnsemble(space, context=HOSTILE))
    import torch

    from pellucid.models.ranking.losses import position_weights

    recorder.attempt(lambda: position_weights(3, HOSTILE, torch.zeros(3)))
    drive_model_of_a_study(recorder, files.to_bytes(model))


def _space() -> Any:
    from pellucid.space.encoding import Condition, Space

    return Space.of(
        {
            LR: FloatDistribution(1e-4, 1.0, log=True),
            OPT: CategoricalDistribution([SGD, ADAM]),
            DEPTH: FloatDistribution(0.0, 1.0),
        },
        {DEPTH: Condition(OPT, (0,))},
    )


def drive_model_of_a_study(recorder: Recorder, data: bytes) -> None:
    """The model that a study keeps: missing, cut off, damaged, and a storage that cannot be read."""
    from pellucid.study.storage import keep_model, kept_model

    study = new("keeper")
    recorder.attempt(lambda: kept_model(study, HOSTILE))
    recorder.attempt(lambda: keep_model(study, HOSTILE, data))
    storage, key = study._storage, f"{MODEL}:{HOSTILE}"
    for changes in ({f"{key}:0": HOSTILE}, {f"{key}:0": 3}, {key: 10**6}):
        for each, value in changes.items():
            storage.set_study_system_attr(study._study_id, each, value)
        recorder.attempt(lambda: kept_model(study, HOSTILE))

    class Broken:
        def __getattr__(self, _: str) -> Any:
            raise OSError(5, HOSTILE, HOSTILE)

    study._storage = Broken()  # type: ignore[assignment]
    recorder.attempt(lambda: kept_model(study, HOSTILE))


def drive_files(recorder: Recorder, folder: Path) -> None:
    """Paths that cannot be written."""
    base = folder / f"files{HOSTILE[:30]}"
    base.mkdir()
    loop = base / "loop"
    loop.symlink_to(loop)
    for path in (loop, base, base / "missing" / "x", base / ("x" * 300)):
        recorder.attempt(lambda path=path: write_atomically(path, b"x"))
    recorder.attempt(lambda: _through_a_trap(base))
    recorder.attempt(lambda: _taken_meanwhile(base))
    os.mkfifo(base / "pipe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pellucid.files._PATIENCE_S", 0.0)
        recorder.attempt(lambda: write_atomically(base / "pipe", b"x"))


def _through_a_trap(base: Path) -> None:
    from pellucid import files

    link = os.lstat(base / "loop")
    files._check_link(replace_uid(link, 12345), replace_uid(base.stat(), 12346, stat.S_IWOTH))


def replace_uid(status: os.stat_result, user: int, mode: int = 0) -> os.stat_result:
    return os.stat_result((status.st_mode | mode, *status[1:4], user, *status[5:10]))


def _taken_meanwhile(base: Path) -> None:
    from pellucid import files

    (base / "taken").write_text("x")
    files._write_into(base / "taken", b"x")
