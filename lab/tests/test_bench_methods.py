"""The peers' wrappers and the processes that run them."""

import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.cli.errors import Mistake, Unavailable
from pellucid_lab.base import Method, require_modules
from pellucid_lab.costs.latency import Latency, Plan, Timing
from pellucid_lab.costs.latency_tables import latency_grids, latency_sentences
from pellucid_lab.methods.peers import BoTorchSampler, SmacSampler, from_unit, to_unit
from pellucid_lab.methods.samplers import METHODS, find_method, usable_methods
from pellucid_lab.problems.suites import find_suite
from pellucid_lab.runs.runner import plan_jobs
from pellucid_lab.runs.workers import run_all

optuna.logging.set_verbosity(optuna.logging.ERROR)

NUMBERS = [
    (FloatDistribution(-5, 5), [-5, 0.3, 5]),
    (FloatDistribution(1e-5, 10, log=True), [1e-5, 0.01, 10]),
    (FloatDistribution(0, 1, step=0.25), [0, 0.25, 1]),
    (IntDistribution(0, 9), range(10)),
    (IntDistribution(2, 20, step=6), [2, 8, 14, 20]),
    (IntDistribution(7, 2981, log=True), [7, 8, 144, 2981]),
]


@pytest.mark.parametrize(("distribution", "values"), NUMBERS)
def test_unit_encoding_round_trip(distribution, values) -> None:
    for value in values:
        unit = to_unit(value, distribution)
        assert 0.0 <= unit <= 1.0
        assert from_unit(unit, distribution) == pytest.approx(value, rel=1e-12)
    for unit in (-0.1, 0.0, 1.0, 1.1):
        assert distribution._contains(from_unit(unit, distribution))


def test_integers_get_equal_shares_of_the_unit_interval() -> None:
    grid = [from_unit((i + 0.5) / 1000, IntDistribution(0, 4)) for i in range(1000)]
    assert [grid.count(value) for value in range(5)] == [200] * 5


def test_botorch_refuses_categories() -> None:
    with pytest.raises(TypeError, match="float and int parameters only"):
        to_unit(0.0, CategoricalDistribution(["a", "b"]))


@pytest.mark.parametrize(("name", "module"), [("botorch", "botorch"), ("smac", "smac")])
def test_peers_start_at_random_then_propose_inside_the_space(name: str, module: str) -> None:
    pytest.importorskip(module)
    sampler = METHODS[name].make_sampler(1, 5, 3)
    assert isinstance(sampler, (BoTorchSampler, SmacSampler))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    seen = []

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 1e-3, 1, log=True)
        n = trial.suggest_int("n", 1, 4)
        seen.append(trial.relative_params)
        return -((math.log10(x) + 1) ** 2) - (n - 3) ** 2

    study.optimize(objective, n_trials=6)
    assert seen[:5] == [{}] * 5
    assert set(seen[5]) == {"x", "n"}


def test_unknown_methods_and_missing_packages_are_sentences() -> None:
    with pytest.raises(Mistake, match="The methods are pellucid, optuna-gp"):
        find_method("gp")
    with pytest.raises(Unavailable, match=r"pip install 'pellucid\[bench\]'"):
        require_modules(("no_such_module",), "the method x")
    usable, notes = usable_methods(["random", "optuna-tpe"])
    assert [method.name for method in usable] == ["random", "optuna-tpe"]
    assert notes == []
    assert all(isinstance(method, Method) and name == method.name for name, method in METHODS.items())


def test_static_methods_skip_conditional_problems_with_a_sentence() -> None:
    pytest.importorskip("smac")
    pytest.importorskip("sklearn")
    suite = find_suite("sklearn")
    jobs, notes = plan_jobs(suite, ["svm-digits", "mlp-digits"], ["random", "smac"], [0, 1], 4, 2, None, "")
    assert {(job.problem, job.method) for job in jobs} == {
        ("svm-digits", "random"),
        ("mlp-digits", "random"),
        ("mlp-digits", "smac"),
    }
    assert notes == ["smac does not support conditional spaces: sklearn svm-digits skipped."]
    assert [(job.seed, job.method) for job in jobs[:2]] == [(0, "random"), (1, "random")]


def test_a_task_that_raises_or_kills_its_process_costs_nothing_else() -> None:
    # `eval` because a fresh process can import it: it cannot import this file.
    raises, dies, works = "1 / 0", "__import__('os')._exit(7)", "__import__('os').environ['OMP_NUM_THREADS']"
    outcomes = {one.task: one.outcome for one in run_all(eval, [raises, dies, works], 1)}
    assert outcomes[raises].error == "ZeroDivisionError: division by zero"
    assert "Traceback" in outcomes[raises].trace
    assert "exit code 7" in outcomes[dies].error
    assert outcomes[works].value == "1"


def test_latency_ratios_and_limits() -> None:
    plan = Plan(("pellucid", "smac"), (50, 500), 8, 15, 3, {"smac": 280}, False)
    assert [(block.method, block.n) for block in plan.blocks()] == [
        ("pellucid", 50),
        ("smac", 50),
        ("pellucid", 500),
    ]
    timings = (
        Timing("pellucid", 50, 8, (0.003, 0.001, 0.002)),
        Timing("smac", 50, 8, (0.2,)),
        Timing("pellucid", 500, 8, error="ValueError: no"),
    )
    record = Latency(plan, timings, None, 0.9, {}, "", "", "")
    assert record.ratio("smac", 50) == pytest.approx(100.0)
    assert record.ratio("smac", 500) is None
    assert latency_grids(record)[0].rows == (
        ("50", "2.0 (3)", "200.0 (1)", "100.0×"),
        ("500", "failed", "–", "–"),
    )
    failed, busy = latency_sentences(record)
    assert failed == "pellucid failed at n = 500: ValueError: no"
    assert "load average 0.90 per core" in busy
