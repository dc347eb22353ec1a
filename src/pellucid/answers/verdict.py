"""Whether to stop, and how much was left to find over the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import RegretHistory, StoppingVerdict


def verdict(overview: Overview, _: Subject) -> StoppingVerdict:
    if overview.view.several:
        from pellucid.explain.front_stopping import front_verdict_of

        return front_verdict_of(overview.beliefs)
    from pellucid.explain.stopping import stopping_verdict_of

    return stopping_verdict_of(overview.beliefs, overview.view.objective)


def course(overview: Overview, _: Subject) -> RegretHistory:
    if overview.view.several:
        from pellucid.explain.front_stopping import front_regret_history_of

        return front_regret_history_of(overview.beliefs)
    from pellucid.explain.stopping import regret_history_of

    return regret_history_of(overview.beliefs, overview.view.objective)
