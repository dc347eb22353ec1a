"""pellucid: hyperparameter optimisation you can see through, on top of Optuna.

Names are loaded when they are first used, so that `import pellucid` and the command line start fast. Type checkers read
them in `__init__.pyi`, which `python tools/api.py` writes.
"""

from functools import cache as _cache
from importlib import import_module as _import_module
from typing import Any as _Any

from pellucid import threads as _threads

__version__ = "1.0.0rc1"

_PUBLIC_PACKAGES = ("acquisition", "goals", "surrogates")
_PACKAGES = (*_PUBLIC_PACKAGES, "dashboard", "integrations", "plots")
# Answers are public if a public function returns them: those are in the catalogue. These are no answers.
_OTHERS = (
    "pellucid.search.acquisition.interleave:Interleave",
    "pellucid.answers.importance.evaluator:HsicImportanceEvaluator",
    "pellucid.answers.importance.evaluator:ImportanceEvaluator",
    "pellucid.search.rebuild:RebuiltProposal",
    "pellucid.search.rebuild:rebuild",
    "pellucid.goals:best",
    "pellucid.goals:failed",
    "pellucid.goals:on_the_front",
    "pellucid.answers.finding:Finding",
    "pellucid.answers.finding:NotKnown",
    "pellucid.provenance:Receipt",
    "pellucid.surfaces.page:report",
    "pellucid.samplers.bayesian:BayesianSampler",
    "pellucid.samplers.curve_pruner:CurvePruner",
    "pellucid.samplers.ranking:RankingSampler",
    "pellucid.samplers.stop_when:StopWhen",
    "pellucid.samplers.two_step.sampler:TwoStepSampler",
    "pellucid.study.observations:report_noise",
    "pellucid.study.view:receipt",
    "pellucid.study.view:receipts",
    "pellucid.words:NoAnswer",
    "pellucid.words:NoAnswerYet",
    "pellucid.words:Unanswered",
)


@_cache
def _modules() -> dict[str, str]:
    """The module of every public name."""
    from pellucid.answers.catalogue import CATALOGUE

    answers = [name for answer in CATALOGUE if answer.function for name in (*answer.function, *answer.records)]
    pairs = (reference.split(":") for reference in (*_OTHERS, *answers))
    return {name: module for module, name in pairs if "." not in name}  # A method comes with its class.


def __getattr__(name: str) -> _Any:
    # A process that is forked meanwhile would wait for ever for the thread that imports, which it does not have.
    with _threads.no_fork:
        if name in _PACKAGES:
            return _import_module(f"{__name__}.{name}")
        if name == "__all__":
            return sorted((*_modules(), *_PUBLIC_PACKAGES))
        if name.startswith("__") or name not in _modules():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(_modules()[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules(), *_PUBLIC_PACKAGES, "__all__"})
