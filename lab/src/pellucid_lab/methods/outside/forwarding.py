"""An Optuna sampler that asks a sampler of another release, in a process of its own, for every parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid_lab.methods.outside.sampler import PeerProcess, peer_file
from pellucid_lab.methods.peers import Space

# Attributes of a trial that pellucid reads begin with this.
_ATTRIBUTE = "pellucid:"


class ForwardingSampler(BaseSampler):
    """Keeps a study in the other process that has the same trials. Works for every space, objective and constraint.

    ``cpu_s``: CPU seconds of the other process so far, without its start. ``versions``: the packages that it runs on.
    """

    def __init__(self, name: str, python: Path, seed: int, n_startup: int, file: Path | None = None) -> None:
        self._name = name
        self._python = python
        self._seed = seed
        self._n_startup = n_startup
        self._file = peer_file(name) if file is None else file
        self._process: PeerProcess | None = None
        self._told: set[int] = set()
        self.cpu_s = 0.0
        self.versions: dict[str, str] = {}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Space) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        process = self._started(study)
        trials = study.get_trials(deepcopy=False)
        ended = [each for each in trials if each.state.is_finished() and each.number not in self._told]
        self._told.update(each.number for each in ended)
        answer = process.request(
            {
                "ended": [_row(each) for each in ended],
                "trial": trial.number,
                "name": param_name,
                "distribution": distribution_to_json(param_distribution),
            }
        )
        self.cpu_s += answer["seconds"]
        return param_distribution.to_external_repr(answer["value"])

    def _started(self, study: Study) -> PeerProcess:
        if self._process is None:
            self._process = PeerProcess(self._name, self._python, self._file)
            directions = [direction.name.lower() for direction in study.directions]
            start = {"directions": directions, "seed": self._seed, "n_startup": self._n_startup}
            self.versions = self._process.request(start)["versions"]
        return self._process


def _row(trial: FrozenTrial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "state": trial.state.name,
        "values": trial.values,
        "params": {name: each.to_internal_repr(trial.params[name]) for name, each in trial.distributions.items()},
        "distributions": {name: distribution_to_json(each) for name, each in trial.distributions.items()},
        "reports": list(trial.intermediate_values.items()),
        "attributes": {name: value for name, value in trial.user_attrs.items() if name.startswith(_ATTRIBUTE)},
        "constraints": trial.constraints,
    }
