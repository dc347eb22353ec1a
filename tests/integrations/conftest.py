"""What is logged about two studies: computed once, because both trackers log it."""

from __future__ import annotations

import pytest
from tests.integrations.studies import with_odd_names, with_two_objectives

from pellucid.surfaces.trackers.contents import RunContents, run_contents


@pytest.fixture(scope="session")
def odd() -> RunContents:
    return run_contents(with_odd_names(), "mlflow", progress=False)


@pytest.fixture(scope="session")
def front() -> RunContents:
    return run_contents(with_two_objectives(), "mlflow", progress=False)
