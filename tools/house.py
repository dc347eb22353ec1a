"""The house in figures: what one call passes through, and what the sources hold. A mirror, not a fence.

`python tools/house.py` prints them for this tree, `--json` as data. `.venvs/rc1/bin/python tools/house.py` prints those
of 1.0.0rc1 (`make peers`) with the same tracer and studies; lines of tests are always those of this tree. A function
counts once however often it is called, and so does its file. What a call finds in a cache it does not pass.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType

import optuna

import pellucid

HOUSE = Path(pellucid.__file__).parent
TESTS = Path(__file__).parents[1] / "tests"
N_TRIALS, N_FAILED_EVERY = 25, 7
# What counts the objectives of a study: an attribute or a variable of this name, or the length of one of these.
_SEVERAL, _COUNTED = "several", {"directions", "objectives", "targets", "each"}

Flow = Callable[[optuna.Study], object]


# ---------------------------------------------------------------------- what a call passes


def objective(trial: optuna.Trial) -> tuple[float, float]:
    """Four parameters, one of them conditional, and now and then a failure."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    solver = trial.suggest_categorical("solver", ["plain", "momentum"])
    push = trial.suggest_float("push", 0.0, 1.0) if solver == "momentum" else 0.0
    if trial.number % N_FAILED_EVERY == N_FAILED_EVERY - 1:
        raise RuntimeError("out of memory")
    loss = (rate - 0.03) ** 2 + 0.01 * (depth - 6) ** 2 + 0.3 * (push - 0.7) ** 2
    return loss, float(depth) + 5.0 * push


def tuned(objectives: int, constrained: bool) -> optuna.Study:
    """A study of our sampler with a few failures."""

    def of_study(trial: optuna.Trial) -> tuple[float, ...]:
        values = objective(trial)[:objectives]
        if constrained:
            trial.set_constraint("memory", trial.params["depth"] - 9.0)
        return values

    study = optuna.create_study(directions=["minimize"] * objectives, sampler=pellucid.BayesianSampler(seed=3))
    study.optimize(of_study, n_trials=N_TRIALS, catch=(RuntimeError,))
    return study


def ask(study: optuna.Study) -> None:
    trial = study.ask()
    trial.suggest_float("rate", 1e-4, 1.0, log=True)


def _report(study: optuna.Study) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pellucid.report(study, Path(folder) / "report.html", progress=False)


FLOWS: dict[str, tuple[int, bool, Flow]] = {
    "ask": (1, False, ask),
    "ask, two objectives": (2, False, ask),
    "ask, constraint": (1, True, ask),
    "importance": (1, False, pellucid.importance),
    "recommend": (1, False, pellucid.recommend),
    "recommend, two objectives": (2, False, pellucid.recommend),
    "report": (1, False, _report),
    "report, two objectives": (2, False, _report),
}


def passed(flow: Flow, study: optuna.Study) -> set[CodeType]:
    """Functions of pellucid that a call passes; lambdas and comprehensions belong to the function around them."""
    codes: set[CodeType] = set()

    def trace(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and not code.co_name.startswith("<") and code.co_filename.startswith(str(HOUSE)):
            codes.add(code)

    sys.setprofile(trace)
    try:
        flow(study)
    finally:
        sys.setprofile(None)
    return codes


def walked() -> dict[str, tuple[int, int]]:
    """Functions and files that each flow passes."""
    found = {}
    for name, (objectives, constrained, flow) in FLOWS.items():
        codes = passed(flow, tuned(objectives, constrained))
        found[name] = len(codes), len({code.co_filename for code in codes})
    return found


# ---------------------------------------------------------------------- what the sources hold


def sources(root: Path) -> Iterator[tuple[int, ast.Module]]:
    """Lines and syntax of every module."""
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield text.count("\n"), ast.parse(text)


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its head and its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None and len(function.body) > 1 else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def counts_objectives(test: ast.AST) -> bool:
    """Whether a condition asks how many objectives a study has."""
    for node in ast.walk(test):
        if _SEVERAL in (getattr(node, "attr", None), getattr(node, "id", None)):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "len":
            counted = node.args[0]
            if getattr(counted, "attr", getattr(counted, "id", None)) in _COUNTED:
                return True
    return False


def held() -> dict[str, float]:
    """Files, functions and lines of the sources and tests, and branches on the number of objectives."""
    house = list(sources(HOUSE))
    nodes = [node for _, tree in house for node in ast.walk(tree)]
    lengths = [body_lines(node) for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert)]
    tests += [condition for node in nodes if isinstance(node, ast.comprehension) for condition in node.ifs]
    return {
        "files of src": len(house),
        "lines of src": sum(lines for lines, _ in house),
        "lines of tests": sum(lines for lines, _ in sources(TESTS)),
        "functions of src": len(lengths),
        "median lines of a function": statistics.median(lengths),
        "functions of at most three lines, %": round(100 * sum(n <= 3 for n in lengths) / len(lengths)),
        "branches on the number of objectives": sum(map(counts_objectives, tests)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what one call passes through, and what the sources hold.")
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    as_data = parser.parse_args().json
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    flows, figures = walked(), held()
    if as_data:
        print(json.dumps({"passed": flows, "held": figures}, indent=1))
        return
    print(f"pellucid {pellucid.__version__}\n\n{'passed by':<36} functions  files")
    for name, (functions, files) in flows.items():
        print(f"{name:<36} {functions:>9}  {files:>5}")
    print()
    for name, figure in figures.items():
        print(f"{name:<36} {figure:>9g}")


if __name__ == "__main__":
    main()
