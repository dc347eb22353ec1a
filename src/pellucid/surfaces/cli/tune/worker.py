"""One worker process of `pellucid tune`, which `pool` starts with a job on its standard input.

It runs the user's code. What that code prints goes to the parent's output; it cannot reach the messages to the parent.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.storage.places import Place, place_of
from pellucid.surfaces.cli.storage.studies import import_packages, load, open_storage
from pellucid.surfaces.cli.tune.messages import GO, Job, Message, MessageKind
from pellucid.surfaces.cli.tune.pruning import PrunerName, make_pruner
from pellucid.surfaces.cli.tune.sampling import SamplerName, make_sampler
from pellucid.surfaces.cli.tune.target import Target, described, load_objective, parse_target
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial


class _TolerantWriter(io.RawIOBase):
    """Writes to a descriptor and ignores errors, so that a trial does not fail if its output has no reader."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError:
            return len(data)


class Connection:
    """The messages to the parent and its orders, on descriptors that the user's code does not know."""

    def __init__(self) -> None:
        self._orders: IO[str] = os.fdopen(os.dup(0), encoding="utf-8")
        self._reports = os.dup(1)
        no_input = os.open(os.devnull, os.O_RDONLY)
        os.dup2(no_input, 0)
        os.close(no_input)
        os.dup2(2, 1)
        sys.stdout = _text(1)
        sys.stderr = _text(2)
        if hasattr(select, "poll"):
            threading.Thread(target=_discard_output_without_reader, daemon=True).start()

    def send(self, message: Message) -> None:
        with suppress(OSError):  # If the parent is gone, `receive` returns an empty order next.
            os.write(self._reports, f"{message.to_json()}\n".encode())

    def receive(self) -> str:
        """The next order; empty if there will be none."""
        return self._orders.readline().strip()


def _discard_output_without_reader() -> None:
    """Wait until the output has no reader any more and discard it from then on, so that libraries which do not print
    through Python do not fail either."""
    poll = select.poll()
    poll.register(2, 0)  # Reports only errors; a pipe without a reader is one.
    poll.poll()
    no_output = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(no_output, descriptor)


def _text(descriptor: int) -> io.TextIOWrapper:
    buffered = io.BufferedWriter(_TolerantWriter(descriptor))
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True)


class Interruption:
    """SIGTERM interrupts the user's code at once. Between trials it takes effect at the next `check`, so that every
    message is sent completely."""

    def __init__(self) -> None:
        self.requested = False
        self._in_user_code = False
        self._pid = os.getpid()
        signal.signal(signal.SIGTERM, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # A process that the objective has forked ends in the default way.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self.requested:
            self.requested = True
            if self._in_user_code:
                raise KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let SIGTERM raise KeyboardInterrupt at once inside this block."""
        self._in_user_code = True
        try:
            self.check()
            yield
        finally:
            self._in_user_code = False

    def check(self) -> None:
        if self.requested:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Search:
    """The study of a job, and what proposes its trials and stops them early."""

    place: Place
    study: str
    sampler: BaseSampler
    pruner: BasePruner

    @staticmethod
    def of(job: Job) -> Search:
        """The search, with every package that it needs imported: once the user's folder can be imported from, a file in
        it may have the name of such a package. The storage is not touched."""
        place = place_of(job.storage)
        import_packages(place)
        sampler = make_sampler(SamplerName(job.sampler), job.seed, job.n_trials, job.seed_key, job.model)
        return Search(place, job.study, sampler, make_pruner(PrunerName(job.pruner), job.keep))

    def opened(self, announce: Callable[[FrozenTrial], None]) -> Study:
        return load(open_storage(self.place), self.study, announcing(self.sampler, announce), self.pruner)


class TrialRunner:
    """Runs one trial for each order of the parent."""

    def __init__(
        self,
        search: Search,
        target: Target,
        objective: Callable[..., Any],
        connection: Connection,
        interruption: Interruption,
    ) -> None:
        self._search, self._target, self._objective = search, target, objective
        self._connection, self._interruption = connection, interruption
        self._error = ""
        self._returned: Any = None
        self._dismissed = False

    def run(self) -> None:
        if self._next_order():
            self._search.opened(self._send_began).optimize(self._evaluate, catch=(Exception,), callbacks=[self._after])
            if not self._dismissed:
                self._connection.send(Message(MessageKind.STOPPED))

    def _send_began(self, trial: FrozenTrial) -> None:
        self._connection.send(Message(MessageKind.BEGAN, trial.number))

    def _evaluate(self, trial: Trial) -> Any:
        from optuna import TrialPruned

        from pellucid.study.trials import INTERRUPTED_ATTRIBUTE

        self._error, self._returned = "", None
        try:
            with self._interruption.allowed():
                value = self._objective(trial)
            self._interruption.check()  # Some libraries catch the interruption and return early.
            self._returned = value
            return value
        except TrialPruned:
            raise
        except KeyboardInterrupt:
            with suppress(Exception):
                trial.set_user_attr(INTERRUPTED_ATTRIBUTE, True)
            raise
        except SystemExit as error:
            self._error = f"the objective called exit ({described(error, self._target)})"
            raise RuntimeError(printable(self._error)) from error
        except Exception as error:
            self._error = described(error, self._target)
            raise

    def _after(self, study: Study, trial: FrozenTrial) -> None:
        from optuna.trial import TrialState

        failed, error = trial.state == TrialState.FAIL, self._error
        if failed and not error:
            error = refused(self._returned, len(study.directions), study.metric_names or ())
        self._connection.send(Message(MessageKind.ENDED, trial.number, failed, error if failed else ""))
        if not self._next_order():
            study.stop()

    def _next_order(self) -> bool:
        """Wait for an order. Returns whether it is to run another trial."""
        self._dismissed = self._interruption.requested or self._connection.receive() != GO
        return not self._dismissed


def refused(value: Any, n_objectives: int, metrics: Sequence[str] = ()) -> str:
    """Why Optuna refuses what an objective returned. `metrics`: the names of its values, if they have any."""
    returned = f"the objective returned {value!r:.80}"
    several = isinstance(value, Sequence) and not isinstance(value, str)
    if n_objectives == 1:
        if not several:
            return f"{returned}, which is not a number"
        return f"{returned}, but the study has one objective: begin another one, with --direction once for each value"
    if several and len(value) == n_objectives:
        return f"{returned}, which are not all numbers"
    order = f", in this order: {', '.join(metrics)}" if metrics else ""
    return f"{returned}, but the study has {n_objectives} objectives: return a number for each{order}"


def announcing(sampler: BaseSampler, announce: Callable[[FrozenTrial], None]) -> BaseSampler:
    """The sampler, but it announces every trial before it proposes parameters: if the worker is killed while it does,
    the parent knows which trial to mark as failed."""
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import TrialState

    class Announcing(BaseSampler):
        def before_trial(self, study: Study, trial: FrozenTrial) -> None:
            announce(trial)
            sampler.before_trial(study, trial)

        def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
            return sampler.infer_relative_search_space(study, trial)

        def sample_relative(
            self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
        ) -> dict[str, Any]:
            return sampler.sample_relative(study, trial, search_space)

        def sample_independent(
            self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
        ) -> Any:
            return sampler.sample_independent(study, trial, param_name, param_distribution)

        def after_trial(
            self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
        ) -> None:
            sampler.after_trial(study, trial, state, values)

        def reseed_rng(self) -> None:
            sampler.reseed_rng()

    return Announcing()


def main() -> None:
    interruption = Interruption()
    connection = Connection()
    job = Job.from_json(connection.receive())
    import optuna

    # The parent shows the progress and the errors; Optuna would also print a traceback for every failed trial.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    target = parse_target(job.target)
    try:
        search = Search.of(job)
        with interruption.allowed():
            objective = load_objective(target)
        connection.send(Message(MessageKind.READY))
        TrialRunner(search, target, objective, connection, interruption).run()
    except Mistake as error:
        connection.send(Message(MessageKind.UNUSABLE, text=str(error)))
    except KeyboardInterrupt:
        pass
    except Exception as error:
        connection.send(Message(MessageKind.CRASHED, text=described(error, target)))
        raise SystemExit(1) from None
