"""One worker process of `pellucid tune`: `python -m pellucid.cli.tune.worker`, with a job on its standard input.

It runs the user's code. What that prints goes to the parent as it is; the line of messages is kept out of its reach.
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
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

from pellucid.cli.errors import Mistake
from pellucid.cli.storage.places import place_of
from pellucid.cli.storage.studies import load, open_storage
from pellucid.cli.tune.messages import GO, Job, Kind, Message
from pellucid.cli.tune.sampling import SamplerName, make_sampler
from pellucid.cli.tune.target import Target, described, load_objective, parse_target

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial


class _Unbreakable(io.RawIOBase):
    """A descriptor that may have nobody at its other end any more: what a trial prints must not fail it."""

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


class Line:
    """To the parent and back."""

    def __init__(self) -> None:
        self._orders: IO[str] = os.fdopen(os.dup(0), encoding="utf-8")
        self._reports = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = _text(1)
        sys.stderr = _text(2)
        if hasattr(select, "poll"):
            threading.Thread(target=_outlive_the_reader, daemon=True).start()

    def send(self, message: Message) -> None:
        with suppress(OSError):  # A parent that is gone is noticed when the next order is waited for.
            os.write(self._reports, f"{message.to_json()}\n".encode())

    def receive(self) -> str:
        """The next order; empty when there will be none."""
        return self._orders.readline().strip()


def _outlive_the_reader() -> None:
    """Once nobody reads, nothing is written: libraries that do not print through Python must not fail either."""
    gone = select.poll()
    gone.register(2, 0)  # Asks for nothing but errors, which a pipe without a reader is.
    gone.poll()
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)


def _text(descriptor: int) -> io.TextIOWrapper:
    buffered = io.BufferedWriter(_Unbreakable(descriptor))
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True)


class Interruption:
    """SIGTERM ends the user's code where it is; between trials it waits, so that nothing is left half told."""

    def __init__(self) -> None:
        self.requested = False
        self._inside = False
        self._pid = os.getpid()
        signal.signal(signal.SIGTERM, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # A process that the objective has forked: it ends as it would anywhere else.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self.requested:
            self.requested = True
            if self._inside:
                raise KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        self._inside = True
        try:
            self.check()
            yield
        finally:
            self._inside = False

    def check(self) -> None:
        if self.requested:
            raise KeyboardInterrupt


class Worker:
    """Runs trials, one for each order."""

    def __init__(self, job: Job, target: Target, objective: Callable[..., Any], line: Line, stop: Interruption) -> None:
        self._job, self._target, self._objective = job, target, objective
        self._line, self._stop = line, stop
        self._error = ""
        self._told_to_end = False

    def run(self) -> None:
        if self._ordered():
            self._study().optimize(self._evaluate, catch=(Exception,), callbacks=[self._after])
            if not self._told_to_end:
                self._line.send(Message(Kind.STOPPED))

    def _study(self) -> Study:
        job = self._job
        sampler = make_sampler(SamplerName(job.sampler), job.seed, job.n_trials, job.share, job.model)
        return load(open_storage(place_of(job.storage)), job.study, announcing(sampler, self._began))

    def _began(self, trial: FrozenTrial) -> None:
        self._line.send(Message(Kind.BEGAN, trial.number))

    def _evaluate(self, trial: Trial) -> Any:
        from optuna import TrialPruned

        from pellucid.study.trials import INTERRUPTED_ATTRIBUTE

        self._error = ""
        try:
            with self._stop.allowed():
                value = self._objective(trial)
            self._stop.check()  # Some libraries take an interruption as a wish to return early.
            self._error = f"the objective returned {value!r:.80}, which is no number"
            return value
        except TrialPruned:
            raise
        except KeyboardInterrupt:
            with suppress(Exception):
                trial.set_user_attr(INTERRUPTED_ATTRIBUTE, True)
            raise
        except SystemExit as error:
            self._error = f"the objective called exit ({described(error, self._target)})"
            raise RuntimeError(self._error) from error
        except Exception as error:
            self._error = described(error, self._target)
            raise

    def _after(self, study: Study, trial: FrozenTrial) -> None:
        from optuna.trial import TrialState

        failed = trial.state == TrialState.FAIL
        self._line.send(Message(Kind.ENDED, trial.number, failed, self._error if failed else ""))
        if not self._ordered():
            study.stop()

    def _ordered(self) -> bool:
        self._told_to_end = self._stop.requested or self._line.receive() != GO
        return not self._told_to_end


def announcing(sampler: BaseSampler, announce: Callable[[FrozenTrial], None]) -> BaseSampler:
    """The sampler, telling of every trial before it begins to think about it: from then on somebody can clean up."""
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
    stop = Interruption()
    line = Line()
    job = Job.from_json(line.receive())
    import optuna

    # The parent shows how it goes; a trial that fails would also print its traceback.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    target = parse_target(job.target)
    try:
        with stop.allowed():
            objective = load_objective(target)
        line.send(Message(Kind.READY))
        Worker(job, target, objective, line, stop).run()
    except Mistake as error:
        line.send(Message(Kind.UNUSABLE, text=str(error)))
    except KeyboardInterrupt:
        pass
    except Exception as error:
        line.send(Message(Kind.LOST, text=described(error, target)))
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
