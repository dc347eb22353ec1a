"""An Optuna sampler whose proposals come from a peer in a process of its own, with an interpreter of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from pellucid.surfaces.cli.errors import Unavailable
from pellucid.words import printable
from pellucid_lab.methods.peers import Space, StaticSampler, allowed, costs

# The folder of the peers' environments, if it is not the one that `make peers` creates in the current folder.
FOLDER_VARIABLE = "PELLUCID_PEERS"
DEFAULT_FOLDER = ".venvs"

_HERE = Path(__file__).parent
_TAIL = 1500  # characters of a dead peer's stderr: its last traceback


def interpreter(environment: str) -> Path:
    """The Python of a peer's environment; raises `Unavailable` with the command that creates it if there is none."""
    folder = Path(os.environ.get(FOLDER_VARIABLE, DEFAULT_FOLDER))
    path = folder.absolute() / environment / "bin" / "python"
    if not path.is_file():
        raise Unavailable(
            f"the method {environment} is skipped: it needs an environment of its own in {folder / environment}; "
            f"create it with `make peers`, or set {FOLDER_VARIABLE} to the folder of the environments."
        )
    return path


def peer_file(environment: str) -> Path:
    """The program that a peer's process loads."""
    return _HERE / f"{environment}.py"


class PeerProcess:
    """A running peer. One message at a time: a line of JSON there, a line of JSON back."""

    def __init__(self, name: str, python: Path, file: Path) -> None:
        self._name = name
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [str(python), "-I", "-W", "ignore", str(_HERE / "loop.py"), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
        )
        self.close = weakref.finalize(self, _end, self._process, self._log)

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(printable(self._last_words()))
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        code = self._process.wait()
        self._log.seek(0)
        tail = self._log.read().decode(errors="replace").strip()[-_TAIL:]
        return f"the process of the peer {self._name} ended with exit code {code}; the end of its stderr:\n{tail}"


def _end(process: subprocess.Popen[str], log: IO[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.kill()
    process.wait()
    log.close()


class OutsideSampler(StaticSampler):
    """Random until ``n_startup`` trials are complete; then the peer proposes, and is told each trial that finishes.

    ``cpu_s``: CPU seconds of the peer so far, without its start. ``versions``: the packages that it runs on.
    """

    def __init__(self, name: str, python: Path, seed: int, n_startup: int, file: Path | None = None) -> None:
        super().__init__(seed, n_startup)
        self._name = name
        self._python = python
        self._file = peer_file(name) if file is None else file
        self._process: PeerProcess | None = None
        self._space: Space = {}
        self._reported: set[int] = set()
        self.cpu_s = 0.0
        self.versions: dict[str, str] = {}

    def _propose(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial], space: Space) -> dict[str, Any]:
        process = self._started(space)
        rows = []
        for finished, cost in zip(trials, costs(study, trials), strict=True):
            if finished.number not in self._reported and math.isfinite(cost):
                rows.append([[_sent(finished.params[name], space[name]) for name in space], cost])
            self._reported.add(finished.number)
        answer = process.request({"tell": rows})
        self.cpu_s += answer["seconds"]
        return {name: _received(value, space[name]) for name, value in zip(space, answer["params"], strict=True)}

    def _started(self, space: Space) -> PeerProcess:
        """The peer's process; a new one, which is told everything again, if the space has changed."""
        if self._process is None or space != self._space:
            parameters = [_parameter(distribution) for distribution in space.values()]
            self._space = space
            self._reported.clear()
            self._process = PeerProcess(self._name, self._python, self._file)
            self.versions = self._process.request({"space": parameters, "seed": self._seed})["versions"]
        return self._process


def _parameter(distribution: BaseDistribution) -> dict[str, Any]:
    if isinstance(distribution, CategoricalDistribution):
        return {"kind": "choice", "count": len(distribution.choices)}
    if isinstance(distribution, FloatDistribution) and distribution.step is None:
        return {"kind": "float", "low": distribution.low, "high": distribution.high, "log": distribution.log}
    if isinstance(distribution, IntDistribution) and distribution.step == 1:
        return {"kind": "int", "low": distribution.low, "high": distribution.high, "log": distribution.log}
    raise TypeError(f"This peer takes floats, ints and categoricals without a step; got {distribution!r}.")


def _sent(value: Any, distribution: BaseDistribution) -> float:
    return distribution.to_internal_repr(value) if isinstance(distribution, CategoricalDistribution) else value


def _received(value: float, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value)]
    return allowed(value, distribution)
