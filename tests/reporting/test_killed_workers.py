"""What a report says about a study whose workers were killed, or still run."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy import text
from tests.helpers import began, bowl

import pellucid
from pellucid.answers.doubts import doubts
from pellucid.surfaces.page.gather import gather


def told(study: Study) -> str:
    return "\n".join(doubts(gather(study, progress=False)))


def new_study(storage: RDBStorage | None = None) -> Study:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=4), storage=storage)
    study.optimize(bowl, n_trials=12)
    return study


def test_a_trial_killed_before_its_receipt_was_chosen_by_nobody() -> None:
    study = new_study()
    study._storage.create_new_trial(study._study_id)  # All that a worker leaves that is killed in its first statement.
    study.optimize(bowl, n_trials=2)
    said = told(study)
    assert "Another sampler" not in said
    assert "1 of 15 trials have not ended" in said
    assert {phase.label for phase in pellucid.history(study).phases} == {"start-up", "model"}


def test_a_trial_that_runs_for_very_long_looks_dead() -> None:
    study = new_study()
    study.add_trials([began(timedelta(days=1)), began(timedelta(minutes=5))])
    said = told(study)
    assert "2 of 14 trials have not ended; answers do without their values: ask again when they have ended." in said
    assert re.search(r"Trial 12 has run for 24\.0 h, and no other took longer than \d s: if its process died, ", said)
    study.tell(12, state=TrialState.FAIL)
    assert "1 of 14 trials have not ended" in told(study)
    assert "process died" not in told(study)


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_trial_that_a_heartbeat_repeats_is_no_copy(tmp_path: Path) -> None:
    storage = RDBStorage(
        f"sqlite:///{tmp_path / 'study.db'}",
        heartbeat_interval=60,
        grace_period=120,
        heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
    )
    study = new_study(storage)
    lost = study.ask()
    bowl(lost)
    storage.record_heartbeat(lost._trial_id)
    with storage.engine.begin() as connection:  # As if a day had passed.
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 day')"))
    fail_stale_trials(study)
    study.optimize(bowl, n_trials=1)
    assert study.trials[13].params == study.trials[12].params
    said = told(study)
    assert "1 of 14 trials repeat others whose processes had died: look at those for why." in said
    assert "enqueued" not in said
    assert pellucid.history(study).phases[-1].label == "repeated"
    with pytest.raises(ValueError, match=r"Trial 13 repeats trial 12, whose process had died. Ask about trial 12"):
        pellucid.explain_proposal(study, 13)
    assert pellucid.explain_proposal(study, 12).proposed
