"""Settings shared by all tests: one thread per process, repeatable examples, quiet Optuna."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

# Before NumPy loads its BLAS: the suite runs in several processes, each on one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# No command of a test may work on the storage of whoever runs it.
os.environ.pop("PELLUCID_STORAGE", None)

import hypothesis  # noqa: E402
import optuna  # noqa: E402
import sqlalchemy  # noqa: E402
from optuna.study import Study  # noqa: E402

# Examples are derived from the test itself, so a failure is repeatable and a passing suite stays passing.
# HYPOTHESIS_PROFILE=explore draws new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

optuna.logging.set_verbosity(optuna.logging.ERROR)

# Modules whose failed assertions pytest explains as in test files.
pytest.register_assert_rewrite(
    *("tests.end_to_end.examples", "tests.engines.checks", "tests.engines.processes"),
    "tests.explain.proposals.studies",
    *("tests.helpers", "tests.problems", "tests.study.receipts"),
)


from pellucid.surfaces.cli.redaction import forget  # noqa: E402
from tests.helpers import without_waiting_for_the_disk  # noqa: E402

sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", without_waiting_for_the_disk)


Server = TypeVar("Server")


@contextmanager
def or_skip(server: AbstractContextManager[Server]) -> Iterator[Server]:
    """The server; the test is skipped if the machine cannot have it."""
    from pellucid.surfaces.cli.errors import Unavailable

    with ExitStack() as stack:
        try:
            running = stack.enter_context(server)
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield running


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    yield
    forget()


@pytest.fixture(autouse=True)
def _no_answer_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """No answer fails unless the test is about that: the reader is told so on a page that is otherwise complete, which
    tests of pages would not see."""
    failed: list[str] = []

    class Failures(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg.startswith("An answer failed"):
                failed.append(record.getMessage())

    handler, logger = Failures(), logging.getLogger("pellucid")
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    if "failing_answers" not in request.keywords:
        assert not failed


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of an empty database on a server that lives as long as the test run."""
    pytest.importorskip("psycopg2")
    from pellucid_lab.servers.postgres import postgres

    with or_skip(postgres()) as server:
        yield server.url


@pytest.fixture(scope="session")
def earlier() -> Study:
    """The last of eight random studies of tasks that resemble each other; all of them are in its storage."""
    from tests.helpers import task

    storage = optuna.storages.InMemoryStorage()
    for i in range(8):
        sampler = optuna.samplers.RandomSampler(seed=i)
        study = optuna.create_study(study_name=f"earlier {i}", storage=storage, sampler=sampler)
        study.optimize(task(0.25 * i - 1.0), n_trials=40)
    return study


@pytest.fixture(scope="session")
def ranker(earlier: Study) -> Any:
    """A ranking model that has learned from these studies, for about two seconds."""
    pytest.importorskip("torch")
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.ranker import Ranker
    from pellucid.models.ranking.training import Recipe
    from pellucid.study.earlier_studies import EarlierStudies

    storage = earlier._storage
    past = EarlierStudies.of([optuna.load_study(study_name=f"earlier {i}", storage=storage) for i in range(8)])
    ensemble = RankingEnsemble(past.space, members=5, width=16, recipe=Recipe(steps=400, lists=8, learning_rate=5e-3))
    return Ranker.of(ensemble.meta_trained(past.tasks[1:], past.tasks[:1]))
