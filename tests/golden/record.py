"""Record every proposal, receipt and answer of the golden studies, or compare them with the recorded ones.

    python -m tests.golden.record                  write golden.json.gz and texts/answers
    python -m tests.golden.record flat             write those of one study
    python -m tests.golden.record --check          compare all studies with it
    python -m tests.golden.record --check flat tpe compare two of them

Proposals and receipts must be equal to the last bit, numbers in answers to 1e-12. Of fifteen studies, sentences and
notes are recorded too, without their numbers, in texts/answers: they may be rewritten, and the diff of the files shows
how. Record again only when proposals or answers are meant to change, and say so in the commit. The process selects the
instructions that OpenBLAS and NumPy use, unless the environment already does, so that the last bits are those of most
processors. `Tolerances` says how much others, and torch on any of them, may differ.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from types import CodeType
from typing import Any

from tests.golden.masks import NAMES, changes, part, text_file, write_text

FILE = Path(__file__).parent / "golden.json.gz"
# NumPy's own loops with AVX-512 stay on: the studies were recorded with them.
PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512_ICL AVX512_SPR",
    "ATEN_CPU_CAPABILITY": "avx2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
    "GOLDEN_PINNED": "1",
}
WORDS = ("cannot tell", "no effect", "not known", "standardised variance")
Record = dict[str, Any]


@dataclass(frozen=True)
class Tolerances:
    """Largest relative differences; numbers below 1 count as 1. With `inf`, only names, lengths and types count."""

    trials: float
    receipts: float
    answers: float


EXACT = Tolerances(0.0, 0.0, 1e-12)
# No setting makes torch's BLAS round alike on all processors. Networks are trained in double precision, so receipts
# differ by less than 1e-12 between six instruction sets. A rank is a count, and contributions in answers are means of
# ranks: where two scores are as good as equal, a rank moves by a whole step, and the means have moved by 3e-6.
RANKED = Tolerances(1e-6, 1e-6, 1e-4)
RANKED_STUDIES = ("ranking", "ranking alone")
# A processor that rounds otherwise than the one that recorded the studies: an older one, another architecture, or one
# that is told to. The search for a maximum ends elsewhere on a flat top, by 1e-4 at most with six instruction sets.
# Answers that draw from a model draw something else: their bands and verdicts are tested elsewhere, by what they mean.
ROUNDED_OTHERWISE = Tolerances(1e-3, 1e-3, math.inf)


# ------------------------------------------------------------------------------------------- the questions


def questions(study: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every question that pellucid answers about a study, with the function that asks it."""
    if len(study.directions) == 1:
        yield from questions_of_one(study)
    else:
        yield from questions_of_several(study)
    yield from questions_of_any(study)
    yield from questions_of_the_rest(study)


def questions_of_one(study: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked about a study with one objective."""
    import optuna

    import pellucid

    params = sorted({name for trial in study.trials for name in trial.params})
    numeric = [name for name in params if name in ("x", "lr", "units", "C", "max_depth", "a", "momentum", "depth")]
    n = len(study.trials)
    yield "history", lambda: pellucid.history(study)
    yield "recommendation", lambda: pellucid.recommend(study)
    yield "stopping", lambda: pellucid.stopping_verdict(study, regret_below=0.05, min_trials=10)
    yield "course", lambda: pellucid.regret_history(study, min_trials=10)
    yield "importance", lambda: pellucid.hsic_importance(study, n_permutations=199)
    yield "importance of all", lambda: pellucid.hsic_importance(study, source="all", bandwidth="max", n_permutations=99)
    yield "importance of a model", lambda: pellucid.hsic_importance(study, source="surrogate")
    yield "shares", lambda: pellucid.importance(study)
    yield "calibration", lambda: pellucid.calibration(study)
    yield "failures", lambda: pellucid.hsic_importance(study, pellucid.failed(), pairs=False, n_permutations=99)
    yield "ranges", lambda: pellucid.parameter_ranges(study)
    yield "advice", lambda: list(pellucid.parameter_ranges(study).advice)
    for name in numeric[:1]:
        yield f"interval of {name}", lambda name=name: pellucid.interval_reduction(study, name, n_permutations=99)
    for name in params[:2]:
        yield f"profile of {name}", lambda name=name: pellucid.profile_effect(study, name)
        yield f"effect of {name}", lambda name=name: pellucid.partial_dependence(study, name)
    yield "joint effect", lambda: pellucid.partial_dependence(study, params[:2])
    yield "joint effect of the last", lambda: pellucid.partial_dependence(study, params[-2:])
    yield "effect at a trial", lambda: pellucid.partial_dependence(study, params[0], level=0.8, trial=0)
    for number in (n - 1, n - 2):
        yield f"proposal {number}", lambda number=number: pellucid.explain_proposal(study, number)
    yield "proposal, local", lambda: pellucid.explain_proposal(study, n - 1, background="local")
    yield "proposal, baseline", lambda: pellucid.explain_proposal(study, n - 1, baseline="incumbent")
    yield "interactions", lambda: interactions(study, n - 1)
    yield "paths", lambda: pellucid.desirability_paths(study, range(n - 4, n), background="hybrid", progress=False)
    yield "comparison", lambda: pellucid.compare_importance(study, n - 1)
    yield "rebuilt", lambda: rebuilt(study, n - 1)
    if any(trial.intermediate_values for trial in study.trials):
        yield "pruning", lambda: pellucid.pruning_record(study)
        for number in (n - 1, n - 2):
            yield f"stop of {number}", lambda number=number: pellucid.explain_pruning(study, number)
    if hasattr(study.sampler, "plan"):
        yield "plan", lambda: study.sampler.plan(study)
        yield "best trial of the steps", lambda: {"number": study.sampler.best_trial(study).number}
    evaluator = pellucid.HsicImportanceEvaluator()
    yield "evaluator", lambda: optuna.importance.get_param_importances(study, evaluator=evaluator)


def questions_of_several(study: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked about a study with several objectives, and about each of them."""
    import pellucid

    params = sorted({name for trial in study.trials for name in trial.params})
    objectives = range(len(study.directions))
    n = len(study.trials)
    last = max(trial.number for trial in study.trials if trial.values)
    yield "history", lambda: pellucid.history(study)
    yield "recommendation", lambda: pellucid.recommend(study)
    yield "recommendation, weighted", lambda: pellucid.recommend(study, prefer={i: i + 1 for i in objectives})
    yield "recommendation, limited", lambda: pellucid.recommend(study, limits=middling(study))
    yield "stopping", lambda: pellucid.stopping_verdict(study, min_trials=10)
    yield "course", lambda: pellucid.regret_history(study, min_trials=10)
    for pair in combinations(objectives, 2):
        yield "tradeoff of {} and {}".format(*pair), lambda pair=pair: pellucid.tradeoff(study, pair)
    yield (
        "front",
        lambda: pellucid.hsic_importance(
            study, pellucid.on_the_front(0.2), source="all", pairs=False, n_permutations=99
        ),
    )
    yield f"proposal {n - 1}", lambda: pellucid.explain_proposal(study, n - 1)
    for i in objectives:
        about = f" of objective {i}"
        yield f"history{about}", lambda i=i: pellucid.history(study, objective=i)
        yield f"stopping{about}", lambda i=i: pellucid.stopping_verdict(study, objective=i, min_trials=10)
        yield f"shares{about}", lambda i=i: pellucid.importance(study, objective=i)
        yield f"calibration{about}", lambda i=i: pellucid.calibration(study, objective=i)
        yield f"ranges{about}", lambda i=i: pellucid.parameter_ranges(study, objective=i)
        yield f"profile{about}", lambda i=i: pellucid.profile_effect(study, params[-1], objective=i)
        yield f"effect{about}", lambda i=i: pellucid.partial_dependence(study, params[-1], objective=i)
        yield f"prediction{about}", lambda i=i: pellucid.explain_proposal(study, n - 1, objective=i)
        yield f"comparison{about}", lambda i=i: pellucid.compare_importance(study, n - 1, objective=i)
        yield f"rebuilt{about}", lambda i=i: rebuilt(study, last, i)


def questions_of_any(study: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked about every study, and about its constraints."""
    import pellucid

    yield "verdict", lambda: pellucid.stopping_verdict(study)
    yield "failing settings", lambda: pellucid.failing_settings(study)
    yield "coordinates", lambda: pellucid.parallel_coordinates(study)
    yield "timeline", lambda: pellucid.timeline(copy_at_known_times(study))
    for name in sorted({name for trial in study.trials for name in trial.constraints}):
        about = f" of {name}"
        yield f"shares{about}", lambda name=name: pellucid.importance(study, objective=name)
        yield f"calibration{about}", lambda name=name: pellucid.calibration(study, objective=name)
        for param in sorted({name for trial in study.trials for name in trial.params})[:2]:
            yield (
                f"effect of {param}{about}",
                lambda name=name, param=param: pellucid.partial_dependence(study, param, objective=name),
            )


def questions_of_the_rest(study: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What the catalogue has and no function above asks, without options, of trials at known times."""
    import pellucid
    from pellucid.answers.base import Takes
    from pellucid.answers.catalogue import CATALOGUE

    named = {
        Takes.NOTHING: (),
        Takes.TRIAL: (len(study.trials) - 1,),
        Takes.PARAMS: tuple(sorted({name for trial in study.trials for name in trial.params})[:1]),
        Takes.GOAL: (pellucid.best(),),
    }
    above = (questions_of_one, questions_of_several, questions_of_any, interactions)
    asked = {name for ask in above for name in used(ask.__code__)}
    for entry in CATALOGUE:
        for function in (reference.partition(":")[2].rpartition(".")[2] for reference in entry.function):
            if function not in asked:
                asked.add(function)
                ask, subject = getattr(pellucid, function), named[entry.takes]
                yield entry.key, lambda ask=ask, subject=subject: ask(copy_at_known_times(study), *subject)


def used(code: CodeType) -> Iterator[str]:
    """The names of attributes that a function and the functions inside it use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from used(constant)


def answer(record: Any) -> Any:
    """An answer as plain data."""
    if isinstance(record, list):
        return [answer(entry) for entry in record]
    if isinstance(record, dict):
        return {"/".join(key) if isinstance(key, tuple) else str(key): value for key, value in record.items()}
    return record.to_dict()


def receipt(record: Any) -> Record:
    """A receipt as plain data, without its sentences and without the name of a model, which is a digest of all digits
    that its training printed."""
    data = {key: value for key, value in record.to_dict().items() if key not in ("phase", "reason")}
    if data.get("ranking"):
        data["ranking"] = {key: value for key, value in data["ranking"].items() if key != "model"}
    return data


def interactions(study: Any, trial: int) -> Record:
    """Contributions of parameters and pairs, as they were recorded: "name" and "name/other" -> value."""
    import pellucid

    record = pellucid.proposal_interactions(study, trial)
    return {**record.main, **{"/".join(pair): value for pair, value in record.pairs.items()}}


# ---------------------------------------------------------------------------------------------- recording


def middling(study: Any) -> dict[int, str]:
    """A limit on every objective but the first: its middle value."""
    signs = ["<=" if direction.name == "MINIMIZE" else ">=" for direction in study.directions]
    columns = [sorted(column) for column in zip(*(trial.values for trial in study.trials if trial.values), strict=True)]
    limits = [f"{sign} {column[len(column) // 2]!r}" for sign, column in zip(signs, columns, strict=True)]
    return dict(enumerate(limits[1:], start=1))


def at_known_times(study: Any, start: datetime) -> list[Any]:
    """The trials of a study as if they had run at times that no machine decides, some of them side by side."""
    trials = study.get_trials()
    for trial in trials:
        trial.datetime_start = start + timedelta(seconds=37 * trial.number)
        if trial.datetime_complete is not None:
            trial.datetime_complete = trial.datetime_start + timedelta(seconds=5 + 29 * trial.number % 83)
    return list(trials)


def copy_at_known_times(study: Any) -> Any:
    import optuna

    out = optuna.create_study(directions=study.directions)
    out.add_trials(at_known_times(study, datetime(2026, 1, 2, 3, 4, 5)))
    return out


def rebuilt(study: Any, trial: int, objective: int = 0) -> Record:
    import pellucid

    proposal = pellucid.rebuild(study, trial, objective=objective)
    last = study.trials[trial].params
    mean, sd = proposal.predict([last])
    return {
        "mean": mean.tolist(),
        "sd": sd.tolist(),
        "score": proposal.acquisition.score(proposal.encode([last])).tolist(),
    }


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numbers, names and lists of them; sentences become null."""
    if isinstance(value, bool) or value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return value if value in WORDS or re.fullmatch(r"[\w.+/-]+", value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return [plain(entry) for entry in value]


def recorded(study: Any) -> Record:
    """Everything about a study. Only public functions are called: they stay when the packages are reorganised."""
    import pellucid

    asked = {question: attempted(ask) for question, ask in questions(study)}
    receipts = pellucid.receipts(study)
    return {
        "trials": [plain({"state": t.state.name, "params": t.params, "values": t.values}) for t in study.trials],
        "receipts": {str(entry.trial): plain(receipt(entry)) for entry in receipts},
        "answers": {question: numbers(outcome) for question, outcome in asked.items()},
        "words": [
            *(line for question, outcome in asked.items() for line in part(question, words(outcome))),
            *part("receipts", (f"{each.kind}: {each.phase} {getattr(each, 'reason', '')}" for each in receipts)),
        ],
    }


def attempted(ask: Callable[[], Any]) -> Any:
    """The answer, or the error."""
    try:
        return ask()
    except (ValueError, IndexError, RuntimeError) as error:
        return error


def numbers(outcome: Any) -> Any:
    """An answer as plain data, or the type of the error."""
    import pellucid

    # When the first studies were recorded, reasons for the reader had no type of their own.
    if isinstance(outcome, pellucid.Unanswered):
        return {"error": "ValueError"}
    return {"error": type(outcome).__name__} if isinstance(outcome, Exception) else plain(answer(outcome))


def words(outcome: Any) -> Iterator[str]:
    """The sentence of an answer and those of its notes that this leaves out, or the message of an error."""
    if isinstance(outcome, Exception):
        yield f"{type(outcome).__name__}: {outcome}"
    elif isinstance(outcome, list):
        yield from map(str, outcome)
    elif not isinstance(outcome, dict):
        yield str(outcome)
        yield from (f"note: {note}" for note in getattr(outcome, "notes", ()) if note not in str(outcome))


def record(names: list[str]) -> Record:
    import optuna
    from tests.golden.studies import STUDIES

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return {name: recorded(STUDIES[name]()) for name in names or STUDIES}


def rounding() -> str:
    """A digest of what functions of NumPy, and products and factors of matrices, return here to the last bit."""
    import numpy as np
    import scipy.linalg

    x = np.linspace(0.01, 5.0, 1000)
    A = np.cos(np.arange(1e4)).reshape(100, 100)
    K = A @ A.T + 100.0 * np.eye(100)
    results = [np.exp(x), np.log(x), np.sin(x), x**1.7, K, np.linalg.cholesky(K), scipy.linalg.eigh(K)[0]]
    return blake2b(b"".join(result.tobytes() for result in results), digest_size=8).hexdigest()


def write(studies: Record) -> None:
    """Write the numbers of these studies into the file of all, and what is said about some of them into a file each."""
    golden = read()
    if golden["rounding"] != rounding() and not set(golden) <= {*studies, "rounding"}:
        raise SystemExit("This processor rounds otherwise than the one that recorded the other studies: record all.")
    for name, study in studies.items():
        golden[name] = {kind: study[kind] for kind in ("trials", "receipts", "answers")}
        if name in NAMES:
            write_text(text_file("answers", name), study["words"])
    text = json.dumps({**golden, "rounding": rounding()}, separators=(",", ":"), sort_keys=True)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


def read() -> Record:
    return dict(json.loads(gzip.decompress(FILE.read_bytes())))


# --------------------------------------------------------------------------------------------- comparing


def differences(golden: Any, present: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """Differences of the present values from the recorded ones; new fields do not count."""
    if isinstance(golden, dict) and isinstance(present, dict):
        for key, value in golden.items():
            if key not in present:
                yield f"{where}.{key}: missing"
            else:
                yield from differences(value, present[key], tolerance, f"{where}.{key}")
    elif isinstance(golden, list) and isinstance(present, list):
        if len(golden) != len(present):
            yield f"{where}: {len(golden)} entries, now {len(present)}"
        for i, (a, b) in enumerate(zip(golden, present, strict=False)):
            yield from differences(a, b, tolerance, f"{where}[{i}]")
    elif golden is not None and type(golden) is type(present) and tolerance == math.inf:
        return
    elif isinstance(golden, float) and isinstance(present, float) and tolerance:
        if abs(golden - present) > tolerance * max(1.0, abs(golden)):
            yield f"{where}: {golden!r}, now {present!r}"
    elif golden is not None and (golden != present or type(golden) is not type(present)):
        yield f"{where}: {golden!r}, now {present!r}"


def compared(golden: Record, present: Record, *, exact: bool) -> list[str]:
    """Differences of the studies in `present`; `exact` on a processor that rounds as the one that recorded them."""
    out: list[str] = []
    for name, study in present.items():
        tolerances = ROUNDED_OTHERWISE if not exact else RANKED if name in RANKED_STUDIES else EXACT
        for kind in ("trials", "receipts", "answers"):
            out += differences(golden[name][kind], study[kind], getattr(tolerances, kind), f"{name}: {kind}")
        if name in NAMES and "words" in study:
            out += changes(text_file("answers", name), study["words"], exact=exact)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    present = json.loads(json.dumps(record(options.names)))
    if not options.check:
        write(present)
    golden = read()
    exact = golden["rounding"] == rounding()
    changes = compared(golden, present, exact=exact)
    for line in changes[:50]:
        print(line)
    counted = {part: sum(len(study[part]) for study in present.values()) for part in ("trials", "receipts", "answers")}
    listed = ", ".join(f"{count} {part}" for part, count in counted.items())
    how = "to the last bit" if exact else "within tolerances, because this processor rounds otherwise"
    print(f"{len(present)} studies ({listed}), compared {how}: {len(changes)} differences.")
    return 1 if changes else 0


def pinned(module: str) -> None:
    """Start this process again with the instructions of `PINNED`, unless it has them."""
    if "GOLDEN_PINNED" not in os.environ:
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], {**PINNED, **os.environ})


if __name__ == "__main__":
    pinned("tests.golden.record")
    raise SystemExit(main())
